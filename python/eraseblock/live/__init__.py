"""The page of a drive that is being served: what it does at this moment, for whoever watches."""
