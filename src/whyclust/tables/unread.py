"""What new rows hold that a model does not know: counted, so that parts of a table tell it together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from whyclust.saving.registry import saved


@saved(alone=False)
@dataclass(frozen=True)
class Unread:
    """Rows whose entry in a column is not what the model's table had there.

    Attributes
    ----------
    column : str
    what, meaning : str
        What these rows hold, and what it counts as.
    example : str
        One of the entries; empty where all of them are gaps.
    count, n_rows : int
        Such rows, and all.
    n_usual : int
        Gaps among them that are worth telling only where no row has anything else.

    Examples
    --------
    >>> one = Unread("price", "no number", "it counts as missing", "", 2, 10)
    >>> str(one + Unread("price", "no number", "it counts as missing", "soon", 1, 5))
    "In 3 of 15 rows column 'price' holds no number ('soon'): it counts as missing."
    """

    column: str
    what: str
    meaning: str
    example: str
    count: int
    n_rows: int
    n_usual: int = 0

    def __add__(self, other: Unread) -> Unread:
        return replace(
            self,
            example=self.example or other.example,
            count=self.count + other.count,
            n_rows=self.n_rows + other.n_rows,
            n_usual=self.n_usual + other.n_usual,
        )

    def __str__(self) -> str:
        example = f"'{self.example}'" if self.example else "a gap"
        where = f"In {self.count:,} of {self.n_rows:,} rows column '{self.column}' holds"
        return f"{where} {self.what} ({example}): {self.meaning}."


class UnreadWarning(UserWarning):
    """Warns of rows that a model does not know all of.

    Parameters
    ----------
    unread : Unread
    """

    def __init__(self, unread: Unread) -> None:
        super().__init__(str(unread))
        self.unread = unread


def summed(parts: Iterable[Unread]) -> list[Unread]:
    """One for each column."""
    found: dict[str, Unread] = {}
    for one in parts:
        found[one.column] = found[one.column] + one if one.column in found else one
    return list(found.values())


def unread_notes(parts: Iterable[Unread], n_rows: int) -> list[str]:
    """What is to be said of a whole table with so many rows.

    >>> gaps = Unread("price", "no number", "it counts as missing", "", 5, 5, n_usual=5)
    >>> unread_notes([gaps], 5) == [str(gaps)], unread_notes([gaps], 10)
    (True, [])
    """
    told = [
        one if one.count == n_rows else replace(one, count=one.count - one.n_usual) for one in summed(parts)
    ]
    return [str(replace(one, n_rows=n_rows)) for one in told if one.count]
