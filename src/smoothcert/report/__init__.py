"""One HTML page about runs and logs."""
