"""What the columns of a frame hold, and how each becomes numbers that can be clustered.

`ColumnFacts` is what is known of a column, part by part; `plan_columns` decides from the facts, once, and
returns a `TablePlan`, whose `apply` converts any part of the table;
`preparation` is the scikit-learn transformer behind it.
"""

from whyclust.columns.facts import ColumnFacts, column_facts
from whyclust.columns.plan import ColumnPlan, TablePlan, plan_columns
from whyclust.columns.preparing import preparation

__all__ = ["ColumnFacts", "ColumnPlan", "TablePlan", "column_facts", "plan_columns", "preparation"]
