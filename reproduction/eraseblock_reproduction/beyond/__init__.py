"""Goes beyond the papers: all buffers with all FTLs on all workloads, and what is left on a modern drive."""
