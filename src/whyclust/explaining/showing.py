"""An explanation as a page: written to a file, or shown where the reader is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from whyclust.explaining.reaching import reach

if TYPE_CHECKING:
    from whyclust.auditing import Audit
    from whyclust.report.show import Shown


class Showing:
    """How an explanation becomes a page."""

    def to_html(
        self,
        path: str | Path,
        *,
        title: str | None = None,
        audit: Audit | None = None,
        rows: bool = True,
        embedding: Any = None,
        beside: Any = None,
    ) -> Path:
        """Write a page that opens in any browser, needs no other file and fetches nothing; return its path.

        Parameters
        ----------
        path : path-like
        title : str, optional
        audit : Audit, optional
            What ``wc.audit(model, X)`` returned: the page then tells whether this can be trusted.
        rows : bool
            Whether the page may hold single rows; without them it has sums and means of clusters only.
        embedding : array of shape (n_rows, 2) or "umap", optional
            Places of the rows on the map; principal components by default.
        beside : data frame with a line for each row, optional
            What else to show of each row, such as its name: it has no part in the clustering.
        """
        return reach("to_html")(
            self, path, title=title, audit=audit, rows=rows, embedding=embedding, beside=beside
        )

    def show(
        self,
        *,
        title: str | None = None,
        audit: Audit | None = None,
        rows: bool = True,
        embedding: Any = None,
        beside: Any = None,
        height: int = 760,
    ) -> Shown:
        """Show the page of :meth:`to_html` in a notebook, or else in the browser.

        `height` is that of the frame in a notebook, in pixels.
        """
        return reach("show")(
            self, title=title, audit=audit, rows=rows, embedding=embedding, beside=beside, height=height
        )
