"""Build the page: gather plain values from an explanation, then fill in the templates."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from whyclust._progress import WRITING, stage, waiting
from whyclust._versions import versions
from whyclust.report.data import page_data
from whyclust.report.inlined import as_json, built, policy
from whyclust.report.private import without_few
from whyclust.report.sections import Page, sections
from whyclust.saving.atomic import write_whole

if TYPE_CHECKING:
    from whyclust.auditing import Audit
    from whyclust.explaining.explanation import Explanation


def render(
    explanation: Explanation,
    *,
    title: str | None = None,
    notes: Iterable[str] = (),
    choice: Any = None,
    facts: Mapping[str, object] | None = None,
    audit: Audit | None = None,
    rows: bool = True,
    embedding: Any = None,
    beside: Any = None,
) -> str:
    """Render an explanation as one HTML page that needs no other file.

    Where labels were explained, the page tells first how well the surrogate reproduces them. Every
    name and value is escaped, so that a column called like a script stays a name.

    Parameters
    ----------
    explanation : Explanation
        What `whyclust.explain` returned.
    title : str, optional
        Heading of the page.
    notes : iterable of str
        What a reader should know about the data (imputed values, columns left out, ...).
    choice : ChosenK, Elbow or mapping, optional
        How the number of clusters was chosen, with its curve.
    facts : mapping, optional
        Further lines for the section 'How this was computed'.
    audit : Audit, optional
        What `whyclust.audit` returned for the same clustering: the page begins with its verdict.
    rows : bool
        Whether the page may hold single rows; without them it has sums and means of clusters only, of five
        rows at least.
    embedding : array or frame of shape (n_rows, 2), or "umap", optional
        Places of the rows on the map; ``"umap"`` needs umap-learn. The map by principal components, the one
        that is there by default, stays in the page beside it.
    beside : frame with a line for each row, optional
        What else to show of each row, such as its name: text that has no part in the clustering, and can be
        searched for.

    Returns
    -------
    str
        The page.

    Examples
    --------
    >>> import whyclust as wc
    >>> from sklearn.cluster import KMeans
    >>> from sklearn.datasets import load_iris
    >>> X = load_iris(as_frame=True).data
    >>> page = render(wc.explain(KMeans(3, random_state=0).fit(X), X), title="Iris")
    >>> "<title>Iris</title>" in page and "petal length (cm)" in page
    True
    """
    _check(explanation, rows)
    from markupsafe import Markup

    with waiting(WRITING) as tell:
        tell("Writing the report")
        # Notes tell of single values, too: 'farthest outside is ... in row 7'.
        told = [*explanation.notes, *notes] if rows else []
        said = ""
        if not rows:
            explanation, said = without_few(explanation)
        fill = _filler()
        page = Page(explanation, told, choice, facts or {}, audit, fill, rows, said)
        made = sections(page)
        ignored = explanation.question.about == "ignored"
        title = title or ("What do these clusters ignore?" if ignored else "Why these clusters?")
        shown = page_data(page, title, rows=rows, embedding=embedding, beside=beside)
        stage("Writing the report: the page")
        script, style = built("page.js"), built("page.css")
        return fill(
            "page",
            title=title,
            policy=policy(script),
            style=Markup(style),
            script=Markup(script),
            values=as_json(shown["values"]),
            arrays=shown["arrays"].elements(),
            # Of all rows, where the explanation holds some of them and its summary is of all.
            n_rows=sum(cluster["size"] for cluster in page.clusters),
            counted_from=(shown["values"]["held"] or {}).get("counted_from"),
            n_features=len(explanation.feature_names),
            n_clusters=sum(not cluster["is_noise"] for cluster in page.clusters),
            clusters=page.clusters,
            sections=made,
            headlines=page.first_words,
            said=said,
            versions=versions(),
        )


def _filler() -> Callable[..., Any]:
    """What fills in the report's templates."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    from whyclust.telling.sentences import percent

    environment = Environment(
        loader=PackageLoader("whyclust.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = format_value
    environment.filters["signed"] = lambda value: format_value(value, signed=True)
    environment.filters["percent"] = percent

    def fill(template: str, **values: Any) -> Markup:
        return Markup(environment.get_template(f"{template}.html.jinja").render(**values))

    return fill


def _check(explanation: Explanation, rows: bool) -> None:
    """Refuse what makes no page."""
    # A text such as "no" is true, and the page would hold what it was not to hold.
    if not isinstance(rows, (bool, np.bool_)):
        raise ValueError(f"rows={rows!r}, expected True or False.")
    if not len(explanation):
        raise ValueError("the explanation has no rows, expected one at least.")


def to_html(
    explanation: Explanation,
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    notes: Iterable[str] = (),
    choice: Any = None,
    facts: Mapping[str, object] | None = None,
    audit: Audit | None = None,
    rows: bool = True,
    embedding: Any = None,
    beside: Any = None,
) -> Path:
    """Write the page of `render` to a file, whole or not at all.

    Parameters
    ----------
    explanation : Explanation
        What `whyclust.explain` returned.
    path : path-like
        The file to write; it is replaced if it exists.
    title, notes, choice, facts, audit, rows, embedding, beside
        As for `render`.

    Returns
    -------
    pathlib.Path
        The file written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import whyclust as wc
    >>> from sklearn.cluster import KMeans
    >>> from sklearn.datasets import load_iris
    >>> X = load_iris(as_frame=True).data
    >>> ex = wc.explain(KMeans(3, random_state=0).fit(X), X)
    >>> to_html(ex, Path(tempfile.mkdtemp()) / "report.html").name
    'report.html'
    """
    path = Path(path)
    page = render(
        explanation,
        title=title,
        notes=notes,
        choice=choice,
        facts=facts,
        audit=audit,
        rows=rows,
        embedding=embedding,
        beside=beside,
    )
    try:
        return write_whole(path, lambda stream: stream.write(page.encode("utf-8", "replace")))
    except OSError as error:
        raise OSError(f"cannot write '{path}' ({error.strerror or error}).") from error


def format_value(value: object, *, signed: bool = False) -> str:
    """Write a value for people: four significant digits, text as it is, gaps as 'missing'.

    Parameters
    ----------
    value : object
        A number or text.
    signed : bool
        Whether positive numbers get a plus sign.

    Returns
    -------
    str

    Examples
    --------
    >>> format_value(1234.5678), format_value(0.000123456), format_value("red"), format_value(7)
    ('1235', '0.0001235', 'red', '7')
    >>> format_value(-2.5, signed=True), format_value(-0.0), format_value(float("nan"))
    ('-2.5', '0', 'missing')
    """
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.integer, np.floating)):
        return "missing" if value is None else str(value)
    number = float(value) + 0.0  # which makes 0 of -0
    if math.isnan(number):
        return "missing"
    whole = math.isfinite(number) and number == int(number)
    # As in the sentences: thousands are set apart from 10,000 on.
    text = f"{number:,.0f}" if 1e4 <= abs(number) < 1e15 else f"{number:.0f}" if whole else f"{number:.4g}"
    if abs(number) >= 1e15:
        text = f"{number:.4g}"
    return "+" + text if signed and number > 0 else text
