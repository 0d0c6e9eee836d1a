"""Logs → what is published. Never touches a network."""

from smoothcert.analysis.assured import Assured, assured
from smoothcert.analysis.metrics import Summary, summarize
from smoothcert.analysis.results import Results, read_log, read_results

__all__ = ["Assured", "Results", "Summary", "assured", "read_log", "read_results", "summarize"]
