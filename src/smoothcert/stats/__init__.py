"""Numbers in, numbers out: float64, no torch. The only place where α is spent."""

from smoothcert.stats.binomial import error_bound, least_n, lower_bound, top_two_p_value

__all__ = ["error_bound", "least_n", "lower_bound", "top_two_p_value"]
