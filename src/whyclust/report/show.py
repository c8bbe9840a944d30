"""The page where the reader is: in a notebook, or else in the browser."""

from __future__ import annotations

import sys
import tempfile
import webbrowser
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whyclust._checks import whole_number
from whyclust.report.page import render

if TYPE_CHECKING:
    from whyclust.explaining.explanation import Explanation


@dataclass(frozen=True, repr=False)
class Shown:
    """A page that a notebook shows in a frame of its own.

    Attributes
    ----------
    page : str
        The whole page.
    height : int
        Of the frame, in pixels.
    """

    page: str
    height: int = 760

    def _repr_html_(self) -> str:
        # Within the frame the page's own policy holds; it can neither reach the notebook nor fetch anything.
        return (
            f'<iframe srcdoc="{escape(self.page, quote=True)}" sandbox="allow-scripts allow-downloads" '
            f'style="width:100%;height:{self.height}px;border:1px solid #ccc;border-radius:8px" '
            'title="Why these clusters?"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<A page of {len(self.page) / 1e6:.1f} MB: .open() shows it in the browser>"

    def open(self) -> Path:
        """Write the page to a temporary file, open it in the browser, and return the file."""
        with tempfile.NamedTemporaryFile(
            "w", prefix="whyclust-", suffix=".html", delete=False, encoding="utf-8"
        ) as file:
            file.write(self.page)
        webbrowser.open(Path(file.name).as_uri())
        return Path(file.name)


def show(explanation: Explanation, *, height: int = 760, **options: Any) -> Shown:
    """Show the page of an explanation.

    Parameters
    ----------
    explanation : Explanation
    height : int
        Of the frame in a notebook, in pixels.
    **options
        Of :func:`whyclust.report.render`.

    Returns
    -------
    Shown
    """
    whole_number("height", height, 100)
    shown = Shown(render(explanation, **options), height)
    if "ipykernel" not in sys.modules:
        shown.open()
    return shown
