"""The tables printed in Jeong & Shin (2020), cell for cell, the logs published with it, and readers for both.

Uses nothing of ours.
"""

from smoothcert.paper.published import Published, published
from smoothcert.paper.row import AttackSetting, PrintedCost, Row
from smoothcert.paper.table import TABLES, attack_settings, costs, find_row, read_table, rows

__all__ = [
    "TABLES",
    "AttackSetting",
    "PrintedCost",
    "Published",
    "Row",
    "attack_settings",
    "costs",
    "find_row",
    "published",
    "read_table",
    "rows",
]
