"""The tables printed in Jeong & Shin (2020), cell for cell, and a reader for them. Uses nothing of ours."""

from smoothcert.paper.cost import AttackSetting, PrintedCost, attack_settings, costs
from smoothcert.paper.row import Row
from smoothcert.paper.table import TABLES, find, read_table, rows

__all__ = ["TABLES", "AttackSetting", "PrintedCost", "Row", "attack_settings", "costs", "find", "read_table", "rows"]
