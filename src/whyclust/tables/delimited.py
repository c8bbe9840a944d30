"""Delimited text (CSV and its relatives): encoding, delimiter, header, decimal comma."""

from __future__ import annotations

import csv
import io
import itertools
import re
import warnings
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager

import pandas as pd

from whyclust.tables.signs import DECIMAL_COMMA
from whyclust.tables.spelling import Spelling, spellings_of
from whyclust.tables.tidying import title_note, title_rows, without_empty_rows, without_total
from whyclust.tables.written import read_numbers

DELIMITERS = (",", ";", "\t", "|")
DELIMITER_NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}

# Enough lines to see the shape of a file, few enough to be read at once.
SAMPLE_ROWS = 200
SAMPLE_CHARACTERS = 1_000_000

# The usual marks of pandas ("", NA, NaN, null, ...), the question mark of many public data sets, and MySQL's.
MISSING_MARKS = ["?", r"\N"]

# A note names this many columns.
NAMES_TOLD = 6

# Bytes that show an encoding of two or four bytes a letter.
HEAD = 2000
# What text is that is not UTF-8: Latin-1 gives every byte a character, so it cannot fail.
WESTERN = {"cp1252": "Windows-1252 (Western European)", "latin-1": "Latin-1 (Western European)"}

LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")


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
        Empty for UTF-8, and for UTF-16 and UTF-32 with byte order mark.

    Examples
    --------
    >>> decode("größe".encode("utf-8-sig"))
    ('größe', [])
    >>> decode("größe".encode("cp1252"))
    ('größe', ['The file is not UTF-8; it was read as Windows-1252 (Western European).'])
    """
    known = shown_encoding(raw[:HEAD])
    if known is not None:
        encoding, notes = known
        return _decode_as(raw, encoding), notes
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
        return raw.decode("cp1252"), [western_note("cp1252")]
    except UnicodeDecodeError:
        return raw.decode("latin-1"), [western_note("latin-1")]


def shown_encoding(head: bytes) -> tuple[str, list[str]] | None:
    """The encoding that the first bytes of a file show, and notes; None where only its letters can tell."""
    # The mark of UTF-16 is the beginning of that of UTF-32.
    if head.startswith((b"\xff\xfe\x00\x00", b"\x00\x00\xfe\xff")):
        return "utf-32", []
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16", []
    guessed = _wide(head)
    return None if guessed is None else (guessed, [f"The file was read as {guessed[:6].upper()}."])


def western_note(encoding: str) -> str:
    """Say that a file was not UTF-8."""
    return f"The file is not UTF-8; it was read as {WESTERN[encoding]}."


def _wide(head: bytes) -> str | None:
    """The encoding of mostly Latin text of two or four bytes a letter, which shows in their zeros."""
    for size, encoding in [(4, "utf-32"), (2, "utf-16")]:
        zeros = [head[place::size].count(0) for place in range(size)]
        many = len(head) // (2 * size)
        if min(zeros[1:]) > many and zeros[0] == 0:
            return f"{encoding}-le"
        if min(zeros[:-1]) > many and zeros[-1] == 0:
            return f"{encoding}-be"
    return None


def _decode_as(raw: bytes, encoding: str) -> str:
    try:
        return raw.decode(encoding)
    except UnicodeDecodeError as error:
        name = encoding[:6].upper()
        raise ValueError(
            f"found broken {name} text, perhaps a file cut short: save the table again in UTF-8."
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
    rows = []
    lines = _first_lines(text)
    try:
        with _long_fields(text):
            for row in csv.reader(lines, delimiter=delimiter, skipinitialspace=True):
                if row:
                    rows.append(row)
                if len(rows) == SAMPLE_ROWS:
                    return rows
    except csv.Error:
        return []
    # A quoted field of the last row may go on where the sample ends.
    return rows[:-1] if len(text) > SAMPLE_CHARACTERS and len(rows) > 1 else rows


def _first_lines(text: str) -> Iterator[str]:
    """Lines of the sample; however long a header is, it is among them, and two more."""
    for number, line in enumerate(LINE.finditer(text)):
        if line.start() > SAMPLE_CHARACTERS and number > 2:
            return
        yield line.group()


@contextmanager
def _long_fields(text: str) -> Iterator[None]:
    """Let fields be as long as the text: the limit of the csv module, which is everybody's, is put back."""
    limit = csv.field_size_limit(len(text) + 1)
    try:
        yield
    finally:
        csv.field_size_limit(limit)


def parse(
    text: str, as_written: Collection[str] = (), as_text: Collection[str] = ()
) -> tuple[pd.DataFrame, list[str], dict[int, Spelling]]:
    r"""Parse delimited text into a frame.

    Parameters
    ----------
    text : str
        The whole file, decoded.
    as_written : collection of str
        Names of columns whose text stays text: those that name or label rows.
    as_text : collection of str
        Names of columns of which numbers stay text, too, for whoever knows how to read them.

    Returns
    -------
    frame : pandas.DataFrame
        Column names are as in the file, not yet made unique; columns without a name have "".
    notes : list of str
        What a reader should know, of the signs in numbers among it.
    spellings : dict of int to Spelling
        How numbers are written, by position.

    Examples
    --------
    >>> frame, notes, spellings = parse("name;price\nnut;1,5\nbolt;2,25\n")
    >>> frame["price"].tolist(), notes, spellings[1].comma
    ([1.5, 2.25], ["Commas were read as decimal marks ('1,5' as 1.5) in 'price'."], True)
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
    above = title_rows(rows)
    if above:
        notes.append(title_note([cell for row in rows[:above] for cell in row]))
        body = io.StringIO(text, newline="")
        for _ in range(above):
            _skip_header(body, delimiter, text)
        text, rows = body.read(), rows[above:]
    header: list[str] = [name.strip() for name in rows[0]]
    has_header = not all(_is_number(name) for name in header) or _is_count(header)
    if not has_header:
        header = [f"column {j + 1}" for j in range(len(header))]
        notes.append("The first line holds only numbers; it was read as data, not as column names.")
    names = [name for name in header if name not in ("", *MISSING_MARKS)]
    if has_header and names and all(_is_number(name) for name in names):
        listed = ", ".join(names[:NAMES_TOLD]) + (", …" if len(names) > NAMES_TOLD else "")
        notes.append(
            f"The first line was taken for names, but all of them are numbers: {listed}; if they are a row "
            "of data, put a line of names above it."
        )
    n_fields = Counter(len(row) for row in rows[1:]).most_common(1)[0][0] if len(rows) > 1 else 0
    if n_fields == len(header) + 1:
        extra_is_last = all(row[-1].strip() == "" for row in rows[1:] if len(row) == n_fields)
        header = [*header, ""] if extra_is_last else ["", *header]
    frame, empty = without_empty_rows(_read_columns(text, delimiter, len(header), has_header))
    # 'Total' is no odd word among numbers.
    frame, totals = without_total(frame)

    def written(positions: list[int]) -> pd.DataFrame:
        return _read_columns(text, delimiter, len(header), has_header, positions)

    called = [name or f"column {position + 1}" for position, name in enumerate(header)]
    separated = DELIMITER_NAMES.get(delimiter, repr(delimiter))
    kept = [position for position, name in enumerate(called) if name in as_text]
    for position in kept:
        frame[position] = written([position])[position]
    numbers, told = read_numbers(frame, called, delimiter, separated, written, {*as_written, *as_text})
    spellings = spellings_of(frame, numbers)
    for position, column in numbers.items():
        frame[position] = column
    frame.columns = pd.Index(header)
    return frame, [*notes, *empty, *totals, *told], spellings


def _read_columns(
    text: str, delimiter: str, n_fields: int, has_header: bool, as_text: list[int] | None = None
) -> pd.DataFrame:
    """All columns, called by their positions; or some of them, as they are written."""
    body = io.StringIO(text, newline="")
    n_skipped = _skip_header(body, delimiter, text) if has_header else 0
    try:
        with warnings.catch_warnings():
            # pandas only warns when a first row is too long, and then drops what stands in excess.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            return pd.read_csv(
                body,
                sep=delimiter,
                header=None,
                names=list(range(n_fields)),
                usecols=as_text,
                dtype=None if as_text is None else str,
                index_col=False,
                na_values=MISSING_MARKS,
                skipinitialspace=True,
                low_memory=False,
                on_bad_lines="error",
            )
    except pd.errors.EmptyDataError:
        return pd.DataFrame({j: [] for j in range(n_fields)})
    except (pd.errors.ParserError, pd.errors.ParserWarning) as error:
        raise ValueError(_bad_line(error, n_skipped, n_fields, delimiter)) from error


def _skip_header(body: io.StringIO, delimiter: str, text: str) -> int:
    """Read past the header (a quoted name may hold line breaks) and count its lines."""
    reader = csv.reader(iter(body.readline, ""), delimiter=delimiter, skipinitialspace=True)
    with _long_fields(text):
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
        return DECIMAL_COMMA.fullmatch(text) is not None
    return True


def _is_count(names: list[str]) -> bool:
    """Tell names such as 0, 1, 2 or 2019, 2020, 2021 from a row of data."""
    if len(names) < 2 or not all(name.isdecimal() for name in names):
        return False
    numbers = [int(name) for name in names]
    return all(after - before == 1 for before, after in itertools.pairwise(numbers))
