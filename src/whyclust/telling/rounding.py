"""Numbers as people say them; tables have them in full.

One rule: three significant digits, thousands set apart from 10,000 on (a year stays a year), whole numbers
whole, millions and billions in words from ten million on. Of two numbers that are compared, the smaller is
told no finer than the larger behind the point (but with one digit at least), and both show two digits of
their difference, if those are more. So a mean of 8684.3 is 8680 beside any other.
"""

from __future__ import annotations

import math

# A difference that needs more digits than this is told without showing it.
_MOST_DIGITS = 7
# From here on, numbers have a word for their zeros.
_IN_WORDS = 1e7
_WORDS = {1e9: "billion", 1e6: "million"}


def number(value: float) -> str:
    """A number in a sentence.

    >>> number(60156.2), number(1987), number(0.25), number(94.684), number(-0.0), number(14_312_000_000)
    ('60,200', '1987', '0.25', '94.7', '0', '14.3 billion')
    """
    return _written(float(value), _last_digit(float(value), 3))


def compared(here: float, there: float) -> tuple[str, str]:
    """Two numbers that are compared.

    >>> compared(33095.3, 60156.2), compared(2001.43, 2009.87), compared(60156.0, 60020.0)
    (('33,100', '60,200'), ('2001.4', '2009.9'), ('60,160', '60,020'))
    >>> compared(-0.00961, 0.983), compared(5.23, 1100.2)
    (('-0.01', '0.983'), ('5', '1100'))
    >>> compared(8684.3, 60156.2), compared(8684.3, 3021.4)
    (('8680', '60,200'), ('8680', '3020'))
    """
    here, there = float(here), float(there)
    if not (math.isfinite(here) and math.isfinite(there)):
        return number(here), number(there)
    showing = _last_digit(here - there, 2)
    larger = max(abs(here), abs(there))
    common, finest = _last_digit(larger, 3), _last_digit(larger, _MOST_DIGITS)

    def told(value: float) -> str:
        usual = max(_last_digit(value, 3), min(common, _last_digit(value, 1), 0))
        return _written(value, max(showing, finest) if here != there and showing < usual else usual)

    return told(here), told(there)


def exact(value: float) -> str:
    """A row's own number, to be found again in the table: four digits, or all that are before the point.

    >>> exact(54900.0), exact(14.2345), exact(0.000123456), exact(1065)
    ('54,900', '14.23', '0.0001235', '1065')
    """
    return _written(float(value), min(_last_digit(float(value), 4), 0))


def percent(share: float) -> str:
    """A share in words a person says.

    >>> percent(0.4137), percent(0.002), percent(0.998), percent(1.0)
    ('41%', 'under 1%', 'over 99%', '100%')
    """
    if 0.995 <= share < 1:
        return "over 99%"
    return "under 1%" if 0 < share < 0.005 else f"{share:.0%}"


def count(value: int) -> str:
    """A number of things.

    >>> count(9999), count(10_000)
    ('9999', '10,000')
    """
    return f"{value:,}" if value >= 10_000 else str(value)


def _last_digit(value: float, digits: int) -> int:
    """The power of ten of the last digit that is kept."""
    if value == 0 or not math.isfinite(value):
        return 0
    return math.floor(math.log10(abs(value))) - digits + 1


def _written(value: float, last: int) -> str:
    if not math.isfinite(value):
        return "missing" if math.isnan(value) else "unknown"
    if value == int(value) and abs(value) < 1e4:
        return str(int(value))
    if not 1e-4 <= abs(value) < 1e15:
        return f"{value:.3g}"
    for ones, word in _WORDS.items():
        if abs(value) >= max(ones, _IN_WORDS) and last > 0:
            return f"{_written(value / ones, last - round(math.log10(ones)))} {word}"
    rounded = round(value, -last) + 0.0  # which makes 0 of -0
    if last >= 0:
        return f"{rounded:,.0f}" if abs(rounded) >= 1e4 else f"{rounded:.0f}"
    text = f"{rounded:,.{-last}f}" if abs(rounded) >= 1e4 else f"{rounded:.{-last}f}"
    return text.rstrip("0").rstrip(".")
