"""Delimited text (CSV and its relatives): encoding, delimiter, header, decimal comma."""

from __future__ import annotations

import csv
import io
import itertools
import re
import warnings
from collections import Counter

import pandas as pd

DELIMITERS = (",", ";", "\t", "|")
DELIMITER_NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}

# Enough lines to see the shape of a file, few enough to be read at once.
SAMPLE_ROWS = 200
SAMPLE_CHARACTERS = 1_000_000

# The usual marks of pandas ("", NA, NaN, null, ...) and the question mark of many public data sets.
MISSING_MARKS = ["?"]

COMMA_NUMBER = re.compile(r"\s*[+-]?(\d+|\d{1,3}([. ]\d{3})+)(,\d+)?([eE][+-]?\d+)?\s*")
THOUSANDS_NUMBER = re.compile(r"\s*[+-]?[1-9]\d{0,2}(,\d{3})*(\.\d+)?\s*|\s*[+-]?0?(\.\d+)?\s*")


def decode(raw: bytes) -> tuple[str, list[str]]:
    """Decode the bytes of a text file, and say so where the encoding had to be guessed.

    Parameters
    ----------
    raw : bytes
        The whole file.

    Returns
    -------
    text : str
    notes : list of str
        Empty for UTF-8, with or without byte order mark.

    Examples
    --------
    >>> decode("größe".encode("utf-8-sig"))
    ('größe', [])
    >>> decode("größe".encode("cp1252"))
    ('größe', ['The file is not UTF-8; it was read as Windows-1252 (Western European).'])
    """
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return _decode_as(raw, "utf-16"), []
    # Without a mark, UTF-16 of mostly Latin text shows as a zero in every second byte.
    head = raw[:2000]
    if head[1::2].count(0) > len(head) // 4 and head[0::2].count(0) == 0:
        return _decode_as(raw, "utf-16-le"), ["The file was read as UTF-16."]
    if head[0::2].count(0) > len(head) // 4 and head[1::2].count(0) == 0:
        return _decode_as(raw, "utf-16-be"), ["The file was read as UTF-16."]
    if b"\x00" in raw:
        raise ValueError(
            "found zero bytes, expected text: the file is binary or damaged, "
            "save the table again as CSV in UTF-8."
        )
    try:
        return raw.decode("utf-8-sig"), []
    except UnicodeDecodeError:
        pass
    try:
        text, name = raw.decode("cp1252"), "Windows-1252 (Western European)"
    except UnicodeDecodeError:
        # Latin-1 gives every byte a character, so this cannot fail.
        text, name = raw.decode("latin-1"), "Latin-1 (Western European)"
    return text, [f"The file is not UTF-8; it was read as {name}."]


def _decode_as(raw: bytes, encoding: str) -> str:
    try:
        return raw.decode(encoding)
    except UnicodeDecodeError as error:
        raise ValueError(
            "found broken UTF-16 text, perhaps a file cut short: save the table again in UTF-8."
        ) from error


def sniff_delimiter(text: str) -> str:
    r"""Find the delimiter that cuts the first lines into equally many fields.

    Examples
    --------
    >>> sniff_delimiter("a;b\n1,5;2,5\n3;4\n")
    ';'
    >>> sniff_delimiter("only one column\n1\n2\n")
    ','
    """
    best, best_score = ",", (0.0, 0)
    for delimiter in DELIMITERS:
        rows = _sample(text, delimiter)
        if not rows:
            continue
        n_fields, n_agree = Counter(len(row) for row in rows).most_common(1)[0]
        if n_fields < 2:
            continue
        # A header with fewer fields than its rows is a sign of decimal commas, not of a delimiter;
        # one missing name is allowed, since R writes row names without one.
        if len(rows[0]) not in (n_fields, n_fields - 1) or len(rows[0]) < 2 <= n_fields - 1:
            continue
        score = (n_agree / len(rows), n_fields)
        if score > best_score:
            best, best_score = delimiter, score
    return best


def _sample(text: str, delimiter: str) -> list[list[str]]:
    lines = io.StringIO(text[:SAMPLE_CHARACTERS], newline="")
    rows = []
    try:
        for row in csv.reader(lines, delimiter=delimiter, skipinitialspace=True):
            if row:
                rows.append(row)
            if len(rows) == SAMPLE_ROWS:
                break
    except csv.Error:
        return []
    # The last row of a cut text may be cut, too.
    return rows[:-1] if len(text) > SAMPLE_CHARACTERS and len(rows) > 1 else rows


def parse(text: str) -> tuple[pd.DataFrame, list[str], list[str]]:
    r"""Parse delimited text into a frame.

    Parameters
    ----------
    text : str
        The whole file, decoded.

    Returns
    -------
    frame : pandas.DataFrame
        Column names are as in the file, not yet made unique; columns without a name have "".
    notes : list of str
    numbers_as_text : list of str
        Names of columns in which numbers were written with commas.

    Examples
    --------
    >>> frame, notes, converted = parse("name;price\nnut;1,5\nbolt;2,25\n")
    >>> frame["price"].tolist(), converted
    ([1.5, 2.25], ['price'])
    """
    if not text.strip():
        raise ValueError("the file is empty: expected a header line and at least two rows.")
    # A hint that spreadsheet programs understand; it is not part of the table.
    delimiter = None
    hint = re.match(r"sep=(.)\r?\n", text, flags=re.IGNORECASE)
    if hint:
        delimiter, text = hint.group(1), text[hint.end() :]
        if not text.strip():
            raise ValueError("the file holds no table: expected a header line and at least two rows.")
    delimiter = delimiter or sniff_delimiter(text)
    rows = _sample(text, delimiter)
    notes = []
    header: list[str] = [name.strip() for name in rows[0]]
    has_header = not all(_is_number(name) for name in header) or _is_count(header)
    if not has_header:
        header = [f"column {j + 1}" for j in range(len(header))]
        notes.append("The first line holds only numbers; it was read as data, not as column names.")
    n_fields = Counter(len(row) for row in rows[1:]).most_common(1)[0][0] if len(rows) > 1 else 0
    if n_fields == len(header) + 1:
        extra_is_last = all(row[-1].strip() == "" for row in rows[1:] if len(row) == n_fields)
        header = [*header, ""] if extra_is_last else ["", *header]
    body = io.StringIO(text, newline="")
    n_skipped = _skip_header(body, delimiter) if has_header else 0
    try:
        with warnings.catch_warnings():
            # pandas only warns when a first row is too long, and then drops what stands in excess.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame = pd.read_csv(
                body,
                sep=delimiter,
                header=None,
                names=list(range(len(header))),
                index_col=False,
                na_values=MISSING_MARKS,
                skipinitialspace=True,
                low_memory=False,
                on_bad_lines="error",
            )
    except pd.errors.EmptyDataError:
        frame = pd.DataFrame({j: [] for j in range(len(header))})
    except (pd.errors.ParserError, pd.errors.ParserWarning) as error:
        raise ValueError(_bad_line(error, n_skipped, len(header), delimiter)) from error
    converted = []
    for position, name in enumerate(header):
        numbers = _comma_numbers(frame[position], delimiter)
        if numbers is not None:
            frame[position] = numbers
            converted.append(name)
    frame.columns = pd.Index(header)
    return frame, notes, converted


def _skip_header(body: io.StringIO, delimiter: str) -> int:
    """Read past the header (a quoted name may hold line breaks) and count its lines."""
    reader = csv.reader(iter(body.readline, ""), delimiter=delimiter, skipinitialspace=True)
    for row in reader:
        if row:
            break
    return reader.line_num


def _bad_line(error: Exception, n_skipped: int, n_fields: int, delimiter: str) -> str:
    separated = f"fields separated by {DELIMITER_NAMES.get(delimiter, repr(delimiter))}"
    remedy = "mend that line, or put text that holds the delimiter in quotes."
    found = re.search(r"Expected \d+ fields in line (\d+), saw (\d+)", str(error))
    if found:
        line, n_found = n_skipped + int(found.group(1)), found.group(2)
        return f"line {line} has {n_found} {separated} where {n_fields} were expected: {remedy}"
    if isinstance(error, pd.errors.ParserWarning):
        line = n_skipped + 1
        return f"line {line} has more than the expected {n_fields} {separated}: {remedy}"
    reason = str(error).strip().rstrip(".").splitlines()[-1]
    return f"the text could not be cut into columns ({reason}): save the table again as CSV."


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _is_count(names: list[str]) -> bool:
    """Tell names such as 0, 1, 2 or 2019, 2020, 2021 from a row of data."""
    if len(names) < 2 or not all(name.isdecimal() for name in names):
        return False
    numbers = [int(name) for name in names]
    return all(after - before == 1 for before, after in itertools.pairwise(numbers))


def _comma_numbers(column: pd.Series, delimiter: str) -> pd.Series | None:
    """Convert a text column in which every entry is a number written with commas, else None."""
    if pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column):
        return None
    present = column.dropna().astype(str)
    if present.empty or not present.str.contains(",").any():
        return None
    # '1,234' may be one thousand or one point two: where fields are separated by semicolons the
    # comma is the decimal mark, elsewhere groups of exactly three digits are thousands.
    if delimiter != ";" and _all_match(present, THOUSANDS_NUMBER):
        plain = present.str.replace(",", "")
    elif _all_match(present, COMMA_NUMBER):
        plain = present.str.replace(r"[. ]", "", regex=True).str.replace(",", ".")
    else:
        return None
    return pd.to_numeric(plain).astype(float).reindex(column.index)


def _all_match(entries: pd.Series, pattern: re.Pattern[str]) -> bool:
    return all(pattern.fullmatch(entry) for entry in entries)
