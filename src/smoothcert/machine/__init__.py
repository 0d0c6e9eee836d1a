"""The machine a command runs on: its memory, and the processes that share the work."""
