"""The main job of the command line: a table in, its clusters explained.

Five stages, each a function of what the one before it handed over: read the rows, plan the columns, fit a
clustering, explain rows, gather the result. The first two and the fourth work on parts of a table, too.
"""

from whyclust.job.fitting import METHODS
from whyclust.job.result import Result
from whyclust.job.run import explain_table

__all__ = ["METHODS", "Result", "explain_table"]
