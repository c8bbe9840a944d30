"""Mutations of tables, files, summaries and reports."""

from mutation_parts.mutation import Mutation

TABLES = (
    Mutation(
        "1,234 is a thousand where semicolons separate",
        'delimiter != ";" and _all_match',
        "_all_match",
        "test_tables.py -k 'semicolon'",
    ),
    Mutation(
        "the cut last row of a sample has a say",
        "rows[:-1] if len(text) > SAMPLE_CHARACTERS and len(rows) > 1 else rows",
        "rows",
        "test_tables.py -k cut",
    ),
    Mutation(
        "as many categories as are allowed are too many",
        "if n_distinct > MAX_CATEGORIES:",
        "if n_distinct >= MAX_CATEGORIES:",
        "test_tables.py -k thresholds",
    ),
    Mutation(
        "text of few different numbers is a number",
        "numbers.nunique() > MAX_CATEGORIES:",
        "numbers.nunique() > 0:",
        "test_tables.py -k thresholds",
    ),
    Mutation(
        "19 numbers of 20 are not enough",
        "n_numbers >= NUMERIC_SHARE * n_text",
        "n_numbers > NUMERIC_SHARE * n_text",
        "test_tables.py -k thresholds",
    ),
    Mutation(
        "ten rows are too few to be counted",
        "and len(values) >= 10:",
        "and len(values) > 10:",
        "test_tables.py -k thresholds",
    ),
    Mutation(
        "nine rows are enough to be counted",
        "and len(values) >= 10:",
        "and len(values) >= 9:",
        "test_tables.py -k thresholds",
    ),
    Mutation(
        "two names are an identifier",
        "len(present) > 2 and not asked",
        "len(present) > 1 and not asked",
        "test_tables.py -k thresholds",
    ),
    Mutation(
        "three names are no identifier",
        "len(present) > 2 and not asked",
        "len(present) > 3 and not asked",
        "test_tables.py -k thresholds",
    ),
    Mutation(
        "the largest number is refused",
        "np.abs(present).max() > LARGEST_NUMBER",
        "np.abs(present).max() >= LARGEST_NUMBER",
        "test_tables.py -k thresholds",
    ),
    Mutation(
        "rounding is a difference",
        "4 * np.finfo(np.float64).eps * np.abs(present).max()",
        "0.1 * np.finfo(np.float64).eps * np.abs(present).max()",
        "test_tables.py -k 'thresholds or every_column'",
    ),
    Mutation(
        "twenty columns are listed, and one more is counted",
        "if len(parts) > LONGEST_LIST else",
        "if len(parts) >= LONGEST_LIST else",
        "test_tables.py -k 'thresholds or grouped'",
    ),
)

FILES = (
    Mutation(
        "files are private",
        "0o666 & ~umask()",
        "0o600 & ~umask()",
        "test_files.py -k permissions",
    ),
    Mutation(
        "folders are private",
        "0o777 & ~umask()",
        "0o700 & ~umask()",
        "test_cli.py -k permissions",
    ),
    Mutation(
        "the report comes first",
        'key=lambda path: path.name == "report.html"',
        'key=lambda path: path.name != "report.html"',
        "test_cli.py -k 'report_goes_last'",
    ),
    Mutation(
        "a file that was not finished stays",
        "Path(temporary).unlink(missing_ok=True)",
        "Path(temporary).exists()",
        "test_files.py -k 'failing_disk or nothing_behind'",
    ),
    Mutation(
        "other formats are read",
        "if written != FORMAT:",
        "if written is None:",
        "test_files.py -k newer_format",
    ),
    Mutation(
        "names of clusters come back as objects",
        "values.astype(np.str_) if name in _LABELS and",
        "values.astype(object) if name in _LABELS and",
        "test_given_labels.py test_explanation.py -k 'files_keep or labels_in_files or round_trip'",
    ),
    Mutation(
        "a file may bring any function of numpy",
        "if not isinstance(function, np.ufunc):",
        "if function is None:",
        "test_files.py -k 'cannot_bring'",
    ),
    Mutation(
        "summaries list all of thousands of columns",
        "sorted(ranked[:FEATURES_SHOWN])",
        "sorted(ranked)",
        "test_cli.py -k wide",
    ),
)

TELLING = (
    Mutation(
        "a tenth of a deviation is middling",
        "abs(here - there) < _MIDDLING * deviation",
        "abs(here - there) <= _MIDDLING * deviation",
        "test_summary.py",
    ),
    Mutation(
        "nothing is middling",
        "abs(here - there) < _MIDDLING * deviation",
        "abs(here - there) < 0.0 * deviation",
        "test_summary.py",
    ),
    Mutation(
        "a difference of rounding is high or low",
        "1e-9 * max(abs(here), abs(there))",
        "0.0 * max(abs(here), abs(there))",
        "test_summary.py",
    ),
    Mutation(
        "half of the rows are most of them",
        '"mostly" if here > 0.5 else "often"',
        '"mostly" if here >= 0.5 else "often"',
        "test_summary.py",
    ),
    Mutation(
        "the most frequent category is told, not the most typical",
        "np.argmax(shares_here - shares_there)",
        "np.argmax(shares_here)",
        "test_summary.py",
    ),
    Mutation(
        "rows that are elsewhere tell of a cluster",
        "own = explained & inside & ~explanation.disagrees",
        "own = explained",
        "test_summary.py",
    ),
    Mutation(
        "typical rows have the most evidence",
        "typical = rows[np.argsort(distance",
        "typical = rows[np.argsort(-evidence",
        "test_summary.py",
    ),
    Mutation(
        "means of sparse columns leave zeros out of the others",
        "(total - here_sum) / max((~inside).sum(), 1)",
        "total / max((~inside).sum(), 1)",
        "test_summary.py",
    ),
    Mutation(
        "columns of half a percent are not named",
        'one.features["fraction"] >= NAMED_FROM',
        'one.features["fraction"] > NAMED_FROM',
        "test_summary.py",
    ),
    Mutation(
        "a fifth of a percent is no percent",
        "0 < share < 0.005",
        "0 < share < 0.001",
        "test_summary.py",
    ),
    Mutation(
        "ten thousand has no comma",
        "if value >= 10_000 else",
        "if value > 10_000 else",
        "test_summary.py",
    ),
    Mutation(
        "numbers of five digits have four",
        'if abs(value) < 1e4 else f"{value:,.0f}"',
        'if abs(value) <= 1e4 else f"{value:,.0f}"',
        "test_summary.py",
    ),
    Mutation(
        "speakers against are the weakest",
        "in order[::-1] if values[position] < 0",
        "in order if values[position] < 0",
        "test_summary.py",
    ),
    Mutation(
        "what would be printed as 100% is told",
        "abs(evidence - columns) < 5e-3 * evidence",
        "abs(evidence - columns) < 5e-9 * evidence",
        "test_report.py",
    ),
    Mutation(
        "a base of rounding is shown",
        "abs(base) > NEGLIGIBLE * max(abs(evidence), 1e-300)",
        "abs(base) >= 0.0",
        "test_report.py",
    ),
    Mutation(
        "columns that speak against come last in the report",
        'key=lambda position: -features[position]["width"]',
        'key=lambda position: -features[position]["relevance"]',
        "test_report.py",
    ),
    Mutation(
        "the weakest disagreement comes first",
        "flagged[np.argsort(explanation.evidence[flagged]",
        "flagged[np.argsort(-explanation.evidence[flagged]",
        "test_report.py -k disagreement",
    ),
    Mutation(
        "whiskers are standard errors",
        'REACH * error), "to"',
        'error), "to"',
        "test_report.py -k whiskers",
    ),
)
