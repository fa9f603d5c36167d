"""Runs on the workers of a Dask cluster; docs/cluster.md says how to come by one."""
