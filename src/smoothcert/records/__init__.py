"""What is written and read again: checked when it is read, locked while it is written."""
