"""Logs → what is published. Never touches a network."""

from smoothcert.analysis.metrics import Summary, summarize
from smoothcert.analysis.results import Results, read_all, read_log, read_results

__all__ = ["Results", "Summary", "read_all", "read_log", "read_results", "summarize"]
