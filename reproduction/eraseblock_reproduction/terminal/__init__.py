"""Prints on a terminal what came out."""
