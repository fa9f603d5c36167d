"""For each buffer scheme the small workload on which it is worst: searched, made plain, and kept as data."""
