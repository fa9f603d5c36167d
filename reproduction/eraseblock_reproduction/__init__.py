"""Runs the experiments behind the figures of papers, and sets what the papers state beside what comes out."""
