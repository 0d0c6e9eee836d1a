"""Pictures of logs."""
