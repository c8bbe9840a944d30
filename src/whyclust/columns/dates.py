"""Dates as people write them, read as dates."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

_MONTHS = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
_TIME = r"(?:[T ,]+\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:\s?[aApP][mM])?(?:\s?(?:Z|[+-]\d{2}:?\d{2}))?)?"
_PARTS = re.compile(rf"(\d{{1,2}})([-/.])(\d{{1,2}})\2(\d{{4}}|\d{{2}}){_TIME}")
_FORMS = (
    re.compile(rf"\d{{4}}([-/.])\d{{1,2}}\1\d{{1,2}}{_TIME}"),
    _PARTS,
    re.compile(rf"\d{{1,2}}[-. ]*(?:{_MONTHS})[a-z]*\.?[-,. ]*(?:\d{{4}}|\d{{2}}){_TIME}", re.IGNORECASE),
    re.compile(rf"(?:{_MONTHS})[a-z]*\.? \d{{1,2}}(?:st|nd|rd|th)?,? \d{{4}}{_TIME}", re.IGNORECASE),
)
_CLOCK = re.compile(r"\d{1,3}:[0-5]\d(?::[0-5]\d(?:\.\d+)?)?(?:\s?[aApP]\.?[mM]\.?)?")
# Entries that are looked at before all of them are read.
_GLANCE = 200
_ZONE = re.compile(r":\d{2}.*(?:Z|[+-]\d{2}:?\d{2})$")
# One spelling is read at once; different ones are read one by one, which takes long.
MOST_SPELLINGS = 10_000


def looks_like_date(text: str) -> bool:
    """Whether a text is a date in one of the usual spellings.

    >>> [looks_like_date(text) for text in ("2020-03-04", "4/13/2016 2:30 PM", "Mar 3, 2020", "12/100")]
    [True, True, True, False]
    """
    return any(form.fullmatch(text.strip()) for form in _FORMS)


def looks_like_time(text: str) -> bool:
    """Whether a text is a time of day or a duration in hours, minutes and seconds.

    >>> [looks_like_time(text) for text in ("0:16:07", "14:30", "36:05:10.5", "7:30 am", "1:2", "12:75")]
    [True, True, True, True, False, False]
    """
    return _CLOCK.fullmatch(text.strip()) is not None


def read_dates(columns: Mapping[int, pd.Series], names: list[str]) -> tuple[dict[int, pd.Series], list[str]]:
    """Find the columns of text that hold dates.

    Parameters
    ----------
    columns : mapping of positions to Series
        Of text.
    names : list of str
        What all columns are called in notes.

    Returns
    -------
    dates : dict of int to Series
        Of dates, by position.
    notes : list of str
        Where it had to be guessed whether the day or the month comes first.

    Examples
    --------
    >>> dates, notes = read_dates({0: pd.Series(["13/4/2016", "2/5/2016"])}, ["day"])
    >>> dates[0].dt.month.tolist(), notes
    ([4, 5], [])
    """
    found, guessed = {}, []
    for position, column in columns.items():
        try:
            codes, words = pd.factorize(column.astype(object))
        except TypeError:  # lists and the like
            continue
        texts = [word for word in words if isinstance(word, str)]
        if len(texts) < len(words) or not texts or not all(map(looks_like_date, texts[:_GLANCE])):
            continue
        year_first = [_FORMS[0].fullmatch(text.strip()) is not None for text in texts]
        shown = {day_first_in([text]) for text in texts}
        if any(year_first) != all(year_first) or ({True, False} <= shown and not any(year_first)):
            continue  # several spellings that do not go together
        day_first = day_first_in(texts)
        read = dates_in(texts, bool(day_first))
        if read is None:
            continue
        values = read.reindex(np.where(codes < 0, -1, codes)).to_numpy()
        found[position] = pd.Series(values, index=column.index)
        if day_first is None:
            guessed.append(f"'{names[position]}'")
    if not guessed:
        return found, []
    return found, [f"In dates such as 3/4/2020 the month was taken to come first: {', '.join(guessed)}."]


def dates_in(texts: list[str], day_first: bool) -> pd.Series | None:
    """Dates without a zone, those of several zones in that of Greenwich; None where one is none."""
    zones = any(_ZONE.search(text) for text in texts)
    settings: dict[str, Any] = {"errors": "coerce", "dayfirst": day_first, "utc": zones}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of spellings that differ from row to row
        read = pd.to_datetime(pd.Series(texts), **settings)
        if read.isna().any() and len(texts) <= MOST_SPELLINGS:
            read = pd.to_datetime(pd.Series(texts), format="mixed", **settings)
    if read.isna().any() or not pd.api.types.is_datetime64_any_dtype(read):
        return None
    return read.dt.tz_localize(None) if zones else read


def day_first_in(texts: list[str]) -> bool | None:
    """Whether the day comes before the month; None where nothing shows it.

    >>> day_first_in(["3/4/2020", "13/4/2020"]), day_first_in(["3/4/2020"])
    (True, None)
    """
    parts = [match for match in map(_PARTS.fullmatch, texts) if match is not None]
    if not parts:
        return False
    if any(int(match[1]) > 12 for match in parts) or parts[0][2] == ".":
        return True
    return False if any(int(match[3]) > 12 for match in parts) else None
