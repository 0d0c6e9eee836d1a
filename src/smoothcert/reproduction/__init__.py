"""From a table, a figure or a pattern to what is to be trained and certified, and to a verdict beside the paper."""

from smoothcert.reproduction.plan import Exhibit, Item, Progress, Task, exhibit, items
from smoothcert.reproduction.verdict import Compared, RowVerdict, compare

__all__ = ["Compared", "Exhibit", "Item", "Progress", "RowVerdict", "Task", "compare", "exhibit", "items"]
