"""Why a run was slow: what its responses are made of, in words."""
