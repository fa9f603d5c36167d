"""Figures of a drive that is really there: workloads played to `eraseblock serve`."""
