"""Small pieces of HTML for notebooks.

Styles are inside the tags, because notebooks drop everything else; there are no scripts. Text has the colour
of the page and all else is half transparent, so that light and dark pages both can be read.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

# Of bars: for, against, and neither. All three stand out from white and from black.
FOR, AGAINST, NEITHER = "#d6604d", "#4393c3", "#8a94a0"
_LINE = "1px solid rgba(128,128,128,.35)"
_CELL = f"text-align:left;vertical-align:top;padding:.25em .8em .25em 0;border:0;border-bottom:{_LINE}"
_LONG = "display:inline-block;max-width:22em;overflow:hidden;text-overflow:ellipsis;white-space:nowrap"


def quiet(html: str) -> str:
    """What is of less weight."""
    return f'<span style="opacity:.7">{html}</span>'


def name(text: str) -> str:
    """Somebody's text, cut on the screen where it is long; the mouse shows all of it.

    >>> "&lt;b&gt;" in name("<b>")
    True
    """
    safe = escape(text, quote=True)
    return f'<span title="{safe}" style="{_LONG};vertical-align:bottom">{safe}</span>'


def bar(share: float, colour: str = NEITHER) -> str:
    """A bar of so much of its full length, from 0 to 1."""
    width = 100 * min(max(share, 0.0), 1.0)
    track = "display:inline-block;width:4.5em;height:.6em;margin-right:.5em;background:rgba(128,128,128,.2)"
    return (
        f'<span style="{track}"><span style="display:block;height:100%;width:{width:.0f}%;'
        f'background:{colour}"></span></span>'
    )


def paragraph(html: str) -> str:
    """A line of its own."""
    return f'<p style="margin:.35em 0;max-width:60em">{html}</p>'


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of cells that are HTML already.

    >>> table(["k"], [["2"]]).count("<tr")
    2
    """
    lines = [_line(head, "th"), *(_line(row, "td") for row in rows)]
    return f'<table style="border-collapse:collapse;border:0;margin:.4em 0">{"".join(lines)}</table>'


def _line(cells: Sequence[str], tag: str) -> str:
    # Notebooks colour every other line, for the background that they have chosen.
    found = "".join(f'<{tag} style="{_CELL}">{cell}</{tag}>' for cell in cells)
    return f'<tr style="background:transparent">{found}</tr>'
