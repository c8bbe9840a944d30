"""Mutations of tables, files, summaries and reports."""

from mutation_parts.mutation import Mutation

TABLES = (
    Mutation(
        "1,234 is a thousand where semicolons separate",
        'DECIMAL if delimiter == ";" else THOUSANDS',
        "THOUSANDS",
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
        "if len(texts) > MAX_CATEGORIES:",
        "if len(texts) >= MAX_CATEGORIES:",
        "test_tables.py -k thresholds",
    ),
    Mutation(
        "text of few different numbers is a number",
        "len(np.unique(values[is_number])) <= MAX_CATEGORIES:",
        "len(np.unique(values[is_number])) <= 0:",
        "test_tables.py -k thresholds",
    ),
    Mutation(
        "19 numbers of 20 are not enough",
        "counts[is_number].sum() < NUMERIC_SHARE * counts.sum()",
        "counts[is_number].sum() <= NUMERIC_SHARE * counts.sum()",
        "test_tables.py -k thresholds",
    ),
    Mutation(
        "ten rows are too few to be counted",
        "n_rows >= FEWEST_IDENTIFIED:",
        "n_rows > FEWEST_IDENTIFIED:",
        "test_tables.py -k thresholds",
    ),
    Mutation(
        "nine rows are enough to be counted",
        "n_rows >= FEWEST_IDENTIFIED:",
        "n_rows >= FEWEST_IDENTIFIED - 1:",
        "test_tables.py -k thresholds",
    ),
    Mutation(
        "two names are an identifier",
        "n_rows - n_missing > 2 and not asked",
        "n_rows - n_missing > 1 and not asked",
        "test_tables.py -k thresholds",
    ),
    Mutation(
        "three names are no identifier",
        "n_rows - n_missing > 2 and not asked",
        "n_rows - n_missing > 3 and not asked",
        "test_tables.py -k thresholds",
    ),
    Mutation(
        "the largest number is refused",
        "numbers.largest > LARGEST_NUMBER",
        "numbers.largest >= LARGEST_NUMBER",
        "test_tables.py -k thresholds",
    ),
    Mutation(
        "rounding is a difference",
        "4 * np.finfo(np.float64).eps * numbers.largest",
        "0.1 * np.finfo(np.float64).eps * numbers.largest",
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
        '"O_BINARY", 0), 0o666',
        '"O_BINARY", 0), 0o600',
        "test_files.py -k permissions",
    ),
    Mutation(
        "folders are private",
        "    made.mkdir()",
        "    made.mkdir(0o700)",
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
        "        temporary.unlink(missing_ok=True)",
        "        temporary.exists()",
        "test_files.py -k 'failing_disk or nothing_behind'",
    ),
    Mutation(
        "other formats are read",
        "if written not in range(1, FORMAT + 1):",
        "if written is None:",
        "test_files.py -k newer_format",
    ),
    Mutation(
        "names of clusters come back as objects",
        "column.astype(np.str_) if column.dtype == object",
        "column if column.dtype == object",
        "test_old_files.py",
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
    Mutation(
        "layers take settings that they do not have",
        "unknown = set(settings) - set(entry.settings)",
        "unknown = set()",
        "test_stored_layers.py -k 'does_not_have or make_no_layer'",
    ),
    Mutation(
        "layers of PyTorch are said to need PyTorch",
        '"whyclust" if room == "torch" else room',
        "room",
        "test_stored_layers.py -k known_to_whyclust",
    ),
    Mutation(
        "a reference may have other columns than its trunk",
        "if trunk.reference.shape != (trunk.n_inputs,):",
        "if False:",
        "test_stored_layers.py -k reference_has",
    ),
    Mutation(
        "networks of encoders need deep clusterings",
        '"whyclust.network.torch_stored_trunk"',
        '"whyclust.deep"',
        "test_stored_layers.py -k without_deep",
    ),
    Mutation(
        "parts are saved alone",
        "entry.alone else None",
        "True else None",
        "test_saving.py -k only_a_part",
    ),
    Mutation(
        "explanations may have other data",
        "and found.data.shape == (n_rows, n_columns)",
        "and True",
        "test_saving.py -k data_that_they_explain",
    ),
    Mutation(
        "memory is taken for layers that the file does not hold",
        "refuse_other_sizes(part, state)",
        "made(part)",
        "test_stored_layers.py -k memory",
    ),
    Mutation(
        "keys that are not text come back as text",
        "if all(isinstance(key, str) for key in packed):",
        "if True:",
        "test_saving.py -k keys_come_back",
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
        "(part.labels == part.clusters) & ~part.disagrees",
        "part.labels == part.labels",
        "test_summary.py",
    ),
    Mutation(
        "typical rows have the most evidence",
        "np.lexsort((rows, values))[:limit]",
        "np.lexsort((rows, -values))[:limit]",
        "test_summary.py",
    ),
    Mutation(
        "means of sparse columns leave zeros out of the others",
        "(others / np.maximum(total, 1) * means).sum(axis=0)",
        "means.sum(axis=0)",
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
