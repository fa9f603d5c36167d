"""Repeats an experiment under other readings of its papers, and says which conclusions move."""
