"""What hostile logs and run folders name as code of somebody's own: reading them must not import it."""

from fuzz import canary

canary.fire("imported")
