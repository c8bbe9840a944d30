"""Build the page: gather plain values from an explanation, then fill in the template."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from whyclust._atomic import write_whole
from whyclust._frames import is_frame
from whyclust._versions import versions
from whyclust.report.certificate import certificate
from whyclust.report.curve import curve_drawing
from whyclust.report.pictures import pictures
from whyclust.report.trust import ticks, trust

if TYPE_CHECKING:
    from whyclust.auditing import Audit
    from whyclust.explanation import Explanation

# A reader takes in about this many bars at a glance; the rest can be unfolded.
TOP_FEATURES = 8
# Of thousands of columns the page keeps the strongest, else no browser would open it.
MORE_FEATURES = 200
ROW_FEATURES = 5
ROWS_OF_A_KIND = 3
# More paragraphs than this fill a screen; then the table of clusters comes first.
MOST_PARAGRAPHS = 6
# A base value below this part of the evidence is rounding.
NEGLIGIBLE = 1e-6

FACT_NAMES = {
    "labels": "labels from",
    "n_clusters": "number of clusters",
    "question": "question answered",
    "head": "scores of the clusters from",
    "pool": "competitors pooled by",
    "propagation": "from the encoder's layers to the columns by",
}


def render(
    explanation: Explanation,
    *,
    title: str | None = None,
    notes: Iterable[str] = (),
    elbow: Any = None,
    facts: Mapping[str, object] | None = None,
    audit: Audit | None = None,
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
    elbow : Elbow or mapping, optional
        The inertia curve from which the number of clusters was chosen.
    facts : mapping, optional
        Further lines for the section 'How this was computed'.
    audit : Audit, optional
        What `whyclust.audit` returned for the same clustering: the page begins with its verdict.

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
    from jinja2 import Environment, PackageLoader, StrictUndefined

    from whyclust.sentences import cluster_paragraphs, percent

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
    curve = None
    if elbow is not None:
        curve = curve_drawing(elbow if isinstance(elbow, Mapping) else elbow.to_json())
    summary = explanation.summary()
    clusters = [_cluster(explanation, cluster) for cluster in summary]
    return environment.get_template("page.html.jinja").render(
        title=title or "Why these clusters?",
        trust=trust(explanation, audit),
        ticks=ticks(0.6, 0.75),
        certificate=certificate(explanation),
        sentences=cluster_paragraphs(explanation) if len(explanation) != 1 else [explanation.describe()],
        clusters=clusters,
        n_clusters=sum(not cluster["is_noise"] for cluster in clusters),
        table_first=len(clusters) > MOST_PARAGRAPHS,
        parts=_parts(explanation),
        n_rows=len(explanation.clusters),
        n_features=len(explanation.feature_names),
        notes=list(notes),
        curve=curve,
        facts={**_facts(explanation), **(facts or {})},
        versions=versions(),
    )


def to_html(
    explanation: Explanation,
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    notes: Iterable[str] = (),
    elbow: Any = None,
    facts: Mapping[str, object] | None = None,
    audit: Audit | None = None,
) -> Path:
    """Write the page of `render` to a file, whole or not at all.

    Parameters
    ----------
    explanation : Explanation
        What `whyclust.explain` returned.
    path : path-like
        The file to write; it is replaced if it exists.
    title, notes, elbow, facts, audit
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
    page = render(explanation, title=title, notes=notes, elbow=elbow, facts=facts, audit=audit)
    try:
        return write_whole(path, lambda stream: stream.write(page.encode()))
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
    >>> format_value(-2.5, signed=True), format_value(float("nan"))
    ('-2.5', 'missing')
    """
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.integer, np.floating)):
        return "missing" if value is None else str(value)
    number = float(value)
    if math.isnan(number):
        return "missing"
    whole = math.isfinite(number) and number == int(number)
    # As in the sentences: thousands are set apart from 10,000 on.
    text = f"{number:,.0f}" if 1e4 <= abs(number) < 1e15 else f"{number:.0f}" if whole else f"{number:.4g}"
    if abs(number) >= 1e15:
        text = f"{number:.4g}"
    return "+" + text if signed and number > 0 else text


def _cluster(explanation: Explanation, cluster: Any) -> dict[str, Any]:
    largest = float(np.abs(cluster.features["relevance"].to_numpy()).max()) or 1.0
    features = [
        {
            "name": row["feature"],
            "relevance": row["relevance"],
            "width": round(100 * abs(row["relevance"]) / largest, 1),
            "negative": row["relevance"] < 0,
            "fraction": row["fraction"],
            "direction": row["direction"],
            "inside": row["inside"],
            "outside": row["outside"],
        }
        for row in cluster.features.to_dict("records")
    ]
    # The strongest ones in either direction come first; a column that speaks against counts, too.
    ranked = sorted(range(len(features)), key=lambda position: -features[position]["width"])
    shown, rest = set(ranked[:TOP_FEATURES]), ranked[TOP_FEATURES:MORE_FEATURES]
    return {
        "id": explanation.short_name(cluster.cluster),
        "is_noise": cluster.is_noise,
        # Given where the surrogate does not reproduce it well enough.
        "doubt": None if explanation.fidelity is None else explanation.fidelity.doubt(cluster.cluster),
        "anchor": f"cluster-{_slug(cluster.cluster)}",
        "size": cluster.size,
        "share": cluster.share,
        "evidence": cluster.evidence,
        "n_flagged": int((explanation.disagrees & (explanation.labels == cluster.cluster)).sum()),
        "features": [feature for position, feature in enumerate(features) if position in shown],
        "others": [features[position] for position in sorted(rest)],
        "n_hidden": len(features) - len(shown) - len(rest),
        "typical": _rows(explanation, cluster.typical),
        "borderline": _rows(explanation, cluster.borderline),
        "pictures": pictures(explanation, cluster),
    }


def _slug(name: object) -> str:
    # Anchors take letters and digits only; the code point keeps different names apart.
    return "".join(
        letter if letter.isascii() and letter.isalnum() else f"_{ord(letter):x}" for letter in str(name)
    )


def _rows(explanation: Explanation, positions: Iterable[int]) -> list[dict[str, Any]]:
    chosen = list(positions)[:ROWS_OF_A_KIND]
    some = explanation[chosen]
    columns, relevances = some.top(ROW_FEATURES)
    return [
        {
            "name": some.index[row],
            "evidence": some.evidence[row],
            "competitor": some.named(some.competitors[row]),
            "others": float(some.explained[row] - some.base_values[row] - relevances[row].sum())
            if columns.shape[1] < len(explanation.feature_names)
            else None,
            "base": _base(some.base_values[row], some.evidence[row]),
            "features": [
                {
                    "name": explanation.feature_names[column],
                    "value": _value(some.data, row, int(column)),
                    "relevance": relevance,
                }
                for column, relevance in zip(columns[row], relevances[row], strict=True)
            ],
        }
        for row in range(len(chosen))
    ]


def _base(base: float, evidence: float) -> float | None:
    return float(base) if abs(base) > NEGLIGIBLE * max(abs(evidence), 1e-300) else None


def _parts(explanation: Explanation) -> dict[str, float] | None:
    """Split the mean evidence into what the columns got and what no column got."""
    own = np.asarray(explanation.clusters == explanation.assigned)
    evidence = float(explanation.evidence[own].mean()) if own.any() else 0.0
    columns = float((explanation.explained - explanation.base_values)[own].mean()) if own.any() else 0.0
    # What would be printed as 100% need not be told.
    if evidence <= 0 or abs(evidence - columns) < 5e-3 * evidence:
        return None
    return {"evidence": evidence, "columns": columns, "rest": evidence - columns, "share": columns / evidence}


def _value(data: Any, row: int, column: int) -> object:
    return data.iloc[row, column] if is_frame(data) else data[row, column]


def _facts(explanation: Explanation) -> dict[str, object]:
    facts: dict[str, object] = dict(getattr(explanation, "details", None) or {})
    return {
        # What is only false or empty tells a reader nothing; the question says it in words.
        **{
            FACT_NAMES.get(key, key): value
            for key, value in facts.items()
            if value is not None and not isinstance(value, bool) and key != "noise"
        },
        "rows": len(explanation.clusters),
        "columns": len(explanation.feature_names),
        "β (sharpness of the pooling over competitors)": explanation.beta,
        "rule that shares relevance among competitors": explanation.rule,
    }
