"""Real programs on a served drive: what `make test-e2e` and `make soak-serve` let at it."""
