"""`python -m smoothcert` is the command line."""

from smoothcert.cli import main

main()
