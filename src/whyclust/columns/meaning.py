"""What the name of a column says of its numbers: some are written in digits and measure nothing."""

from __future__ import annotations

import re

# Words that end the names of such columns.
_IDENTIFIERS = {"id", "ids", "uuid", "guid", "identifier", "sku", "isbn", "ean", "ssn", "iban"}
# Words that end the names of identifiers, and of counts and measurements as well: the numbers must show it.
_NUMBERINGS = {"no", "nr", "num", "number", "nummer", "code", "key", "index", "ref", "reference"}
_ROW_NAMES = re.compile(r"index|row([_ ]?(number|nr|no|index))?|unnamed: 0|column 1")
_CODES = {"zip", "zipcode", "postcode", "postalcode", "pincode", "plz", "phone", "telephone", "mobile", "fax"}
_CODE_PAIRS = {("zip", "code"), ("post", "code"), ("postal", "code"), ("pin", "code"), ("area", "code")}
_RANKS = {"rank", "ranking", "rang"}
_YEARS = {"year", "yr", "years", "jahr"}
# A year since which something counts is an age.
_SINCE = {"birth", "born", "built", "build", "construction", "founded", "established", "geburtsjahr", "dob"}

IDENTIFIER, CODE, RANK, YEAR = "identifier", "code", "rank", "year"
# What may be an identifier, if nearly all its numbers are different.
NUMBERING = "numbering"


def words_of(name: str) -> list[str]:
    """The words of a column's name, in small letters.

    >>> words_of("CustomerID"), words_of("pin_code 2"), words_of("userId")
    (['customer', 'id'], ['pin', 'code', '2'], ['user', 'id'])
    """
    parts = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name)
    return [word.lower() for word in re.findall(r"[^\W_]+", parts)]


def meaning_of(name: str) -> str | None:
    """What the numbers of a column of this name are, if they are no quantity.

    Examples
    --------
    >>> [meaning_of(name) for name in ("user_id", "Pin code", "Rank", "year", "Year_Birth", "weight")]
    ['identifier', 'code', 'rank', 'year', None, None]
    >>> [meaning_of(name) for name in ("Customer No", "Kundennummer", "number of visits")]
    ['numbering', 'numbering', None]
    """
    words = words_of(name)
    if not words:
        return None
    if words[-1] in _IDENTIFIERS or _ROW_NAMES.fullmatch(name.strip().lower()):
        return IDENTIFIER
    if words[-1] in _CODES or tuple(words[-2:]) in _CODE_PAIRS:
        return CODE
    if words[-1] in _RANKS or words[0] in _RANKS:
        return RANK
    if _YEARS.intersection(words) and not _SINCE.intersection(words):
        return YEAR
    if words[-1] in _NUMBERINGS or words[-1].endswith("nummer"):
        return NUMBERING
    return None
