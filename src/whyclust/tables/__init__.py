"""From a file to a table that can be clustered.

`read_table` reads CSV, spreadsheets, Parquet, Feather/Arrow, JSON, AnnData and NumPy files; `plan_table` says
what becomes of every column; `preparation` turns the plan into a scikit-learn transformer.
"""

from whyclust.columns.plan import TablePlan
from whyclust.columns.preparing import preparation
from whyclust.tables.files import Table
from whyclust.tables.plan import candidates, plan_table, unknown_column
from whyclust.tables.reading import Reading
from whyclust.tables.sources import read_table

__all__ = [
    "Reading",
    "Table",
    "TablePlan",
    "candidates",
    "plan_table",
    "preparation",
    "read_table",
    "unknown_column",
]
