"""What is written and read again: checksummed, and never anybody else's file."""
