"""Writes what people cite: a short overview, and a page for each paper with its pictures and its data."""
