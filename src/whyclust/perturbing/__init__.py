"""Rows that are changed: in numbers, column by column, with something in place of what is unknown."""
