"""The command line: a table in, its clusters explained, a folder of results out.

The main job is five stages, each a function of what the one before it handed over: read the rows, plan the
columns, fit a clustering, explain rows, gather the result. The first two and the fourth work on parts of a
table, too. Nothing is imported here, so that ``whyclust --version`` answers at once.
"""
