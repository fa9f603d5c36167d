"""Questions that people ask of a workload and a drive: each plans its runs and answers in a sentence."""
