"""One number as people write it: what stands around it, and what it means."""

from __future__ import annotations

import re
from dataclasses import dataclass

# What stands for a gap in a column of numbers, beside what pandas takes for one.
GAPS = frozenset(
    {"-", "--", "–", "—", ".", "..", "...", "n.a.", "n/a", "na", "none", "nil", "unknown", "missing", "tbd"}
    | {"not available", "not known", "k.a.", "s/d", "x"}
)
CURRENCIES = (
    *("US$", "A$", "C$", "R$", "HK$", "S$", "$", "€", "£", "¥", "₹", "₽", "₩", "₺", "₪", "zł", "Fr.", "kr."),
    *("kr", "Rs.", "Rs", "USD", "EUR", "GBP", "CHF", "JPY", "INR", "AUD", "CAD", "CNY", "RMB", "SEK", "NOK"),
    *("DKK", "BRL", "MXN", "PLN", "TRY", "ZAR", "Euro", "euro", "euros", "dollars", "pounds"),
)
# How many ones a word stands for; those of a single letter may be units as well (metres, kelvin).
MAGNITUDES = {
    **dict.fromkeys(("k", "tsd", "thousand"), 1e3),
    **dict.fromkeys(("m", "mn", "mio", "mln", "million", "millions"), 1e6),
    **dict.fromkeys(("b", "bn", "mrd", "billion", "billions"), 1e9),
    **dict.fromkeys(("t", "tn", "trillion", "trillions"), 1e12),
    **dict.fromkeys(("lakh", "lakhs"), 1e5),
    **dict.fromkeys(("cr", "crore", "crores"), 1e7),
}
_MONEY = "|".join(re.escape(name) for name in CURRENCIES)
# Digits of other scripts are none of pandas'.
_FORM = re.compile(
    rf"""\s*(?P<minus>[-−])?\s*(?P<open>\()?\s*
    (?P<before>{_MONEY})?\s*(?P<inside>\()?\s*
    (?P<number>[+\-−]?(?:[0-9](?:[0-9.,'’\u00a0\u202f ]*[0-9])?|[.,][0-9]+)(?:[eE][+-]?[0-9]+)?)
    (?P<behind>[-−])?\s*
    (?P<after>[%‰]|/\s*[0-9]+|[^\W\d_°"'′″µ][^\d()]{{0,14}}|[°"'′″µ£€$¥₹][^\d()]{{0,14}})?
    \s*(?P<close>\))?\s*""",
    re.VERBOSE,
)
_GROUPS = re.compile(r"(?<=\d)['’\u00a0\u202f ](?=\d{3}(?!\d))")
_GROUPED = re.compile(r"-?[1-9]\d{0,2}(?:['’\u00a0\u202f ]\d{3})+(?:[.,]\d+)?")
# What stands behind numbers and is no unit: times of day, months, places in an order.
_NO_UNITS = frozenset(
    {"am", "pm", "uhr", "st", "nd", "rd", "th", "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep"}
    | {"oct", "nov", "dec"}
)
# Longer texts are no numbers.
_LONGEST = 40


@dataclass(frozen=True)
class Entry:
    """A number as it is written, with what stands around it.

    Attributes
    ----------
    number : str
        With its signs, but without blanks and brackets.
    currency, magnitude, unit : str
        Empty where there is none.
    changed, bracketed : bool
        Whether the number is written otherwise in the text, and whether in brackets.
    grouped, behind : bool
        Whether blanks or apostrophes stand between its digits, and whether its minus stands behind them.
    small : bool
        Whether its magnitude is a small 'k', which is no unit as 'K' is.
    """

    number: str
    currency: str = ""
    magnitude: str = ""
    unit: str = ""
    changed: bool = False
    bracketed: bool = False
    grouped: bool = False
    behind: bool = False
    small: bool = False

    @property
    def plain(self) -> bool:
        """Whether nothing stands beside it."""
        return not (self.currency or self.unit or self.magnitude)


def entry_of(text: str) -> Entry | None:
    """A number with what stands around it; None where the text is something else."""
    text = text.strip()
    match = _FORM.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None:
        return None
    brackets = bool(match["open"]) + bool(match["inside"])
    if brackets != bool(match["close"]):
        return None
    number = match["number"].replace("−", "-")
    ungrouped = _GROUPS.sub("", number)
    grouped = ungrouped != number
    # '030 123' is a telephone number, and '007' a code.
    if (grouped and not _GROUPED.fullmatch(number)) or re.match(r"[+-]?0\d", number):
        return None
    number = ungrouped
    if any(sign in number for sign in " '’\u00a0\u202f"):
        return None
    # Accountants write (5) for −5, and some programs 5-.
    signs = brackets + bool(match["minus"]) + bool(match["behind"])
    if signs > 1 or (signs and number[0] in "+-"):
        return None
    if signs:
        number = f"-{number}"
    currency, after = match["before"] or "", (match["after"] or "").strip()
    if match["behind"] and after not in ("", *CURRENCIES):
        return None
    first, _, rest = after.partition(" ")
    magnitude = ""
    # 'B' of '$219 B', and 'Mio' of '3 Mio €'.
    # Alone, small letters are units, as 'm' is a metre; but for 'k', which is none.
    word = first.lower().rstrip(".")
    counts = word in MAGNITUDES and (len(word) > 1 or first in "KMBTk" or currency or rest)
    if counts and (not rest or rest in CURRENCIES):
        magnitude, after = word, rest
    elif len(after) > 1 and after[0] in "kKMB" and after[1:] in CURRENCIES:
        magnitude, after = after[0].lower(), after[1:]
    if after in CURRENCIES and not currency:
        currency, after = after, ""
    if any(symbol in after for symbol in "$€£¥₹"):
        return None
    if after.startswith("/"):
        after = f"of {after[1:].strip()}"
    # '1 star' and '2 stars' are one unit.
    unit = after[:-1] if len(after) > 3 and after.endswith("s") else after
    if unit.lower().rstrip(".") in _NO_UNITS:
        return None
    return Entry(
        number,
        currency.rstrip("."),
        magnitude,
        unit.strip(),
        changed=number != match["number"],
        bracketed=bool(brackets),
        grouped=grouped,
        behind=bool(match["behind"]),
        small=bool(magnitude) and first == "k",
    )


def counts_ones(entries: list[Entry]) -> bool:
    """Whether 'K' and 'M' are thousands and millions, and no units."""
    magnitudes = {entry.magnitude for entry in entries if entry.magnitude}
    words = any(len(magnitude) > 1 or entry.small for entry in entries for magnitude in [entry.magnitude])
    return words or len(magnitudes) > 1 or (bool(magnitudes) and any(entry.currency for entry in entries))
