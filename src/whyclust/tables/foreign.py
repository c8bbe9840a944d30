"""Where other libraries read: what a damaged file makes them raise becomes one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from whyclust._checks import reason_of
from whyclust.saving.limits import TooLargeError


def damaged(kind: str, error: BaseException) -> str:
    """The sentence."""
    return f"the {kind} file is damaged ({reason_of(error)}): write it again."


@contextmanager
def foreign(kind: str) -> Iterator[None]:
    """Whatever is raised in here, the user is told that the file is damaged, and why."""
    try:
        yield
    except TooLargeError:
        raise
    except Exception as error:
        if "pickle" in str(error) and "bject arrays" in str(error):
            raise ValueError(
                "the array holds Python objects, which are never loaded since they can run code: "
                "save numbers, or a CSV or Parquet file."
            ) from error
        raise ValueError(damaged(kind, error)) from error


def clean(text: str) -> str:
    r"""Text without halves of characters, which no file could hold.

    >>> clean("Köln \ud800")
    'Köln ?'
    """
    return text.encode("utf-8", "replace").decode("utf-8", "replace")
