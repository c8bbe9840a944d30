"""Which currencies are the same, and which units measure the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping

# What stands for a currency beside its code.
_CODES = {
    **dict.fromkeys(("€", "Euro", "euro", "euros"), "EUR"),
    **dict.fromkeys(("£", "pounds"), "GBP"),
    **dict.fromkeys(("US$",), "USD"),
    **dict.fromkeys(("$", "dollars"), "$"),
    "A$": "AUD",
    "C$": "CAD",
    "HK$": "HKD",
    "S$": "SGD",
    "R$": "BRL",
    "₹": "INR",
    "Rs": "INR",
    "₽": "RUB",
    "₩": "KRW",
    "₺": "TRY",
    "₪": "ILS",
    "zł": "PLN",
    "Fr": "CHF",
    "RMB": "CNY",
}
# A sign of several currencies is that of the first, unless one of the others is there.
_SIGNS = {"$": ("USD", {"AUD", "CAD", "HKD", "SGD", "MXN"}), "¥": ("JPY", {"CNY"})}
# How many of the smallest unit each is.
_LENGTHS = {
    "mm": 1.0,
    "cm": 10.0,
    "dm": 100.0,
    "m": 1e3,
    "meter": 1e3,
    "metre": 1e3,
    "km": 1e6,
    "in": 25.4,
    "inch": 25.4,
    "inche": 25.4,
    "ft": 304.8,
    "foot": 304.8,
    "feet": 304.8,
    "yd": 914.4,
    "yard": 914.4,
    "mi": 1609344.0,
    "mile": 1609344.0,
}
_WEIGHTS = {
    "mg": 1.0,
    "g": 1e3,
    "gram": 1e3,
    "kg": 1e6,
    "kilo": 1e6,
    "kilogram": 1e6,
    "t": 1e9,
    "tonne": 1e9,
    **dict.fromkeys(("lb", "lbs", "pound"), 453592.37),
    "oz": 28349.523125,
    "ounce": 28349.523125,
}
_TIMES = {
    "ms": 1.0,
    "s": 1e3,
    "sec": 1e3,
    "second": 1e3,
    "min": 6e4,
    "minute": 6e4,
    **dict.fromkeys(("h", "hr", "hrs", "hour", "std", "stunde"), 3.6e6),
    "d": 8.64e7,
    "day": 8.64e7,
    "week": 6.048e8,
}
_VOLUMES = {"ml": 1.0, "cl": 10.0, "dl": 100.0, "l": 1e3, "liter": 1e3, "litre": 1e3}
_SIZES = {"kb": 1.0, "mb": 1e3, "gb": 1e6, "tb": 1e9}
KINDS = (_LENGTHS, _WEIGHTS, _TIMES, _VOLUMES, _SIZES)


def currencies_in(written: Collection[str]) -> set[str]:
    """The different currencies that are meant.

    Examples
    --------
    >>> currencies_in(["€", "EUR"]), currencies_in(["$", "USD"]), sorted(currencies_in(["$", "C$"]))
    ({'EUR'}, {'USD'}, ['$', 'CAD'])
    """
    codes = {_CODES.get(one, one) for one in written if one}
    for sign, (usual, others) in _SIGNS.items():
        if sign in codes and not codes & others:
            codes = codes - {sign} | {usual}
    return codes


def conversions(units: Mapping[str, int]) -> tuple[str, dict[str, float]] | None:
    """The most frequent of several units of one kind, and what to multiply each with to be in it.

    Parameters
    ----------
    units : mapping of str to int
        How often each is there.

    Returns
    -------
    (str, dict of str to float) or None
        None where they are not of one kind.

    Examples
    --------
    >>> conversions({"cm": 5, "m": 2})
    ('cm', {'cm': 1.0, 'm': 100.0})
    >>> conversions({"cm": 5, "kg": 2}) is None
    True
    """
    names = {unit: unit.lower().rstrip(".") for unit in units}
    kind = next((one for one in KINDS if all(name in one for name in names.values())), None)
    if kind is None or not units:
        return None
    target = Counter(units).most_common(1)[0][0]
    return target, {unit: kind[name] / kind[names[target]] for unit, name in names.items()}


def is_unit(unit: str) -> bool:
    """Whether a word is a unit that is known here."""
    return any(unit.lower().rstrip(".") in kind for kind in KINDS)
