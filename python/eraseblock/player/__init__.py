"""The player: a page in which one watches a buffer decide, step by step."""
