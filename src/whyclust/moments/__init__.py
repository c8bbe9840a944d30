"""What is known of many rows in a few numbers, and merges: parts of a table add up to the whole.

Every class here has ``of(part)``, ``+`` and a reading at the end. Nothing is summed that could lose digits:
means and squared deviations are merged around each other (Chan, Golub and LeVeque), so a table that is read
in any number of parts gives the numbers of the whole table, to rounding. Rounding is that of the mean: where
a column lies a million deviations from zero, deviations are known to ten digits, in parts as in the whole.
"""
