"""What people see in a terminal: the table of results and the progress of runs."""
