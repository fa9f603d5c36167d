"""Looks for the best designs under a budget, by few of the runs that a full grid would take."""
