"""What a workload is like: gathered by the engine, shown on a terminal, as a comparison and as a picture."""
