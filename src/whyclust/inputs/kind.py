"""The kind of input: one object that knows how to read, name, show and save a row.

A clustering sees rows of columns, whatever a user has. A kind says how its things become such rows, and how
rows, and relevance of their columns, are shown to a person. A new one is a class of its own::

    @input_kind
    @dataclass(frozen=True)
    class Words(InputKind):
        ...

From then on :func:`whyclust.explain` reads what it recognises, and reports and files know it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeVar

from numpy.typing import NDArray

from whyclust._checks import same_origin
from whyclust.saving.registry import saved

Kind = TypeVar("Kind", bound="type[InputKind]")

_KINDS: list[type[InputKind]] = []


@dataclass(frozen=True)
class InputKind:
    """Rows of a table, which are shown as they are: the columns' names and values say it all.

    A subclass is a frozen dataclass whose fields a file can hold.
    """

    #: What a picture shows, in a sentence under it.
    legend: ClassVar[str] = ""
    #: Whether columns are words, of which clusters can be given names.
    has_words: ClassVar[bool] = False

    @classmethod
    def read(cls, X: Any, called: str) -> tuple[Any, Self] | None:
        """Return X as rows of columns (an array or a frame), and its kind; None if it is of another one."""
        return None

    def names(self, count: int) -> list[str] | None:
        """Return names of the columns, where they follow from the kind."""
        return None

    def take(self, rows: NDArray) -> Self:
        """Return the kind of some of the rows; only what keeps things of single rows needs it."""
        return self

    def joined(self, other: InputKind) -> Self | None:
        """Return the kind of these rows and the other's after them; None if they do not belong together."""
        return self if self == other else None

    def refuse_other(self, found: InputKind, called: str) -> None:
        """Raise a ValueError where rows of another kind were found than a model was made for."""

    @property
    def item_shape(self) -> tuple[int, ...]:
        """The shape that a row had, where it is not a row of columns by itself."""
        return ()

    def shaped(self, values: NDArray) -> NDArray:
        """Return relevance in the shape that the things had."""
        raise ValueError(
            "The rows of this explanation are not images: explain an array of shape (n, height, width) "
            "with or without channels, or a model with image_shape=."
        )

    def facts(self) -> dict[str, object]:
        """Return lines for the report's 'How this was computed'."""
        return {}

    def show(self, data: Any, values: NDArray, rows: NDArray, caption: str) -> str | None:
        """Return HTML that shows a row, or the mean of several, with its relevance; None if there is none.

        Parameters
        ----------
        data : array or frame
            All rows: scales may depend on them.
        values : ndarray
            Relevance of all rows.
        rows : ndarray of int
            Positions of those to be shown.
        caption : str
            What stands under it, for those who cannot see it.
        """
        return None

    def picture(self, row: NDArray, low: float, high: float, caption: str) -> str | None:
        """Return HTML that shows a row which is nobody's, a decoded centre, say; None if there is none.

        Parameters
        ----------
        row : ndarray
            One number for each column.
        low, high : float
            Ends of the scale.
        caption : str
            What it is, for those who cannot see it.
        """
        return None


def input_kind(kind: Kind) -> Kind:
    """Register a kind of input; the last one registered is asked first."""
    saved(kind, alone=False)  # refuses a name that another has
    _KINDS[:] = [kind, *(known for known in _KINDS if not same_origin(known, kind))]
    return kind


saved(InputKind, alone=False)
#: The kind of what no other kind recognises.
TABLE = InputKind()


def kind_of(X: Any, called: str = "X") -> tuple[Any, InputKind]:
    """Return X as rows of columns, and its kind."""
    for kind in _KINDS:
        found = kind.read(X, called)
        if found is not None:
            return found
    return X, TABLE


def forgotten(kind: type[InputKind]) -> Callable[[], None]:
    """Return what takes a kind out of the registry again."""
    return lambda: _KINDS.remove(kind)
