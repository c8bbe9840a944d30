"""An explanation at a glance, for notebooks: the clusters, or the one row, and what can be asked next.

A notebook shows it whenever a cell ends with it, so it has to be cheap. Of large tables some rows of each
cluster are read, and of many columns the strongest. It says so, and proposes no names: those of all rows
might be others.
"""

from __future__ import annotations

from dataclasses import replace
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whyclust._frames import take_columns
from whyclust._html import AGAINST, FOR, bar, name, paragraph, quiet, table
from whyclust.explaining.explanation import Explanation
from whyclust.telling.names import is_name
from whyclust.telling.rounding import count, exact, percent
from whyclust.telling.sentences import bare, describe_row, disagreement
from whyclust.telling.summary import EVIDENCE, ClusterSummary, Summary, summarise

# Columns of a cluster and of a row, and clusters, that fit on a screen.
_COLUMNS, _OF_ROW, _MOST_CLUSTERS = 4, 6, 20
# Numbers that are read in about a second; a column of a cluster costs as much as so many of them.
_READ, _EACH_COLUMN = 10_000_000, 25
_FEWEST_ROWS = 20
# Images of more pixels are not drawn.
_PIXELS = 64 * 64


def glance(explanation: Explanation, known: Summary | None) -> str:
    """HTML of an explanation; `known` is its summary, where somebody has asked for it already."""
    told = [] if explanation.fidelity is None else explanation.fidelity.sentences()
    if len(explanation) == 1:
        return _titled(explanation, told) + _one_row(explanation) + _next(explanation)
    if not len(explanation):
        return _titled(explanation, told)
    told += disagreement(explanation)
    n_rows = len(explanation)
    if known is None and _is_large(explanation):
        known, n_rows = _of_some_rows(explanation)
    pictures = _pictures(explanation)
    found = cluster_table(explanation.summary() if known is None else known, pictures)
    if pictures:
        found += paragraph(quiet(escape(explanation.kind.legend)))
    if n_rows < len(explanation):
        told_rows = f"{count(n_rows)} of the {count(len(explanation))} rows"
        found += paragraph(quiet(f"Read from {told_rows}; <code>ex.summary()</code> reads all."))
    return _titled(explanation, told) + found + _next(explanation)


def cluster_table(summary: Summary, pictures: dict[Any, str] | None = None) -> str:
    """One line for each cluster: its size, its evidence, and its strongest columns or its picture."""
    named = any(_name(one) for one in summary)
    head = ["cluster", *(["name"] if named else []), "rows", "ignored" if summary.ignored else "evidence"]
    what = "mainly in" if summary.ignored else "set apart by"
    head.append(what if summary.measures is None else f"largest by {escape(summary.measures)}")
    rows = []
    for one in list(summary)[:_MOST_CLUSTERS]:
        own = "noise" if one.is_noise else name(str(one.cluster))
        size = f"{count(one.size)} {quiet(f'({percent(one.share)})')}"
        shown = (pictures or {}).get(one.cluster) or _strongest(one, ignored=summary.ignored)
        rows.append([own, *([name(_name(one))] if named else []), size, f"{one.evidence:.3g}", shown])
    more = len(summary) - len(rows)
    told = [f"{_counted(more, 'more cluster')} not shown."] if more else []
    if not summary.ignored:
        told.append(f"Evidence: {EVIDENCE}.")
    if summary.doubt is not None:
        told.append(escape(summary.doubt))
    if not (summary.ignored or pictures):
        value = "relevance, a column's part of it" if summary.measures is None else "values of columns"
        told.append(f"Bars: {value}, the mean of the rows.")
    return table(head, rows) + (paragraph(quiet(" ".join(told))) if told else "")


def _name(one: ClusterSummary) -> str:
    """What a cluster is called beside its id."""
    return "" if one.is_noise or one.title == f"cluster {one.cluster}" else one.name


def _strongest(one: ClusterSummary, *, ignored: bool) -> str:
    shown = one.features.head(_COLUMNS)
    largest = float(shown["relevance"].abs().max()) or 1.0
    lines = []
    for row in shown.to_dict("records"):
        direction = "" if ignored else row["direction"]
        lines.append(_bar_line(row["relevance"], largest, row["feature"], direction))
    return "".join(lines)


def _bar_line(relevance: float, largest: float, column: str, told: str) -> str:
    drawn = bar(abs(relevance) / largest, FOR if relevance > 0 else AGAINST)
    words = quiet(escape(f"{told} ({relevance:+.3g})".lstrip()))
    return f'<div style="white-space:nowrap">{drawn}{name(str(column))} {words}</div>'


def _titled(explanation: Explanation, told: list[str]) -> str:
    """How much there is, what was asked, and what must be known of it."""
    rows = _counted(len(explanation), "row")
    shape = " × ".join(str(size) for size in explanation.kind.item_shape)
    size = f"{rows} of shape {shape}" if shape else f"{rows} × {_counted(explanation.shape[1], 'column')}"
    first = f"<strong>Explanation of {size}</strong>: {escape(str(explanation.question))}"
    return paragraph(f"{first}.") + "".join(paragraph(escape(line)) for line in told)


def _counted(number: int, noun: str) -> str:
    return f"{count(number)} {noun}{'' if number == 1 else 's'}"


def _one_row(explanation: Explanation) -> str:
    told = paragraph(escape(describe_row(explanation, 3)))
    picture = _picture(explanation, explanation.clusters[0])
    if picture is not None:
        return told + picture
    places, values = (found[0] for found in explanation.strongest(_OF_ROW))
    largest = float(np.abs(values).max(initial=0.0)) or 1.0
    rows = []
    for place, relevance in zip(places.tolist(), values.tolist(), strict=True):
        value = explanation.column(explanation.feature_names[place])[0]
        shown = exact(float(value)) if np.issubdtype(type(value), np.number) else str(value)
        drawn = bar(abs(relevance) / largest, FOR if relevance > 0 else AGAINST)
        column = name(explanation.feature_names[place])
        rows.append([column, name(shown), f"{drawn}{escape(f'{relevance:+.3g}')}"])
    more = explanation.shape[1] - len(rows)
    rest = paragraph(quiet(f"{_counted(more, 'more column')} not shown.")) if more else ""
    return told + table(["column", "value", explanation.provenance.measures or "relevance"], rows) + rest


def _next(explanation: Explanation) -> str:
    """What can be asked of it now, each as it would be typed."""
    own, other = explanation.clusters[0], explanation.competitors[0]
    own, other = (one.item() if isinstance(one, np.generic) else one for one in (own, other))
    one_row, images = len(explanation) == 1, bool(explanation.kind.item_shape)
    asked = [] if one_row else [("ex.describe()", "in words"), ("ex[0]", "one row")]
    if explanation.origin is not None and explanation.question.about != "ignored":
        duel = f"ex.ask(cluster={other!r}, against={own!r})" if not one_row else f"ex.ask(cluster={other!r})"
        called = [bare(explanation, one, word="") for one in (other, own)]
        asked.append((duel, f"why not {called[0]}" if one_row else f"why {called[0]} and not {called[1]}"))
    picture = "relevance" if images else "waterfall" if one_row else "bar"
    asked.append((f"ex.plot.{picture}()", "a picture"))
    if not one_row:
        asked += [("wc.audit(model, X)", "can it be trusted"), ('ex.to_html("report.html")', "all of it")]
    listed = " · ".join(f"<code>{escape(code)}</code> {escape(str(what))}" for code, what in asked)
    return paragraph(f"{quiet('Next:')} {listed}")


# --- large tables, and pictures --------------------------------------------------------------------


def _is_large(explanation: Explanation) -> bool:
    n_rows, n_columns = explanation.shape
    n_clusters = len(np.unique(explanation.clusters))
    return n_rows * n_columns + _EACH_COLUMN * n_clusters * n_columns > _READ


def _of_some_rows(explanation: Explanation) -> tuple[Summary, int]:
    """A summary of some rows of every cluster, in their strongest columns; and how many rows they are."""
    rows = _some_rows(explanation)
    some = explanation[rows]
    found: set[int] = set()
    for cluster in np.unique(some.clusters):
        mean = some.values[np.flatnonzero(some.clusters == cluster)].mean(axis=0)
        found.update(np.argsort(-np.asarray(mean), kind="stable")[:_COLUMNS].tolist())
    columns = np.array(sorted(found))
    some = replace(
        some,
        values=np.asarray(some.values[:, columns]),
        data=take_columns(some.data, columns),
        feature_names=[some.feature_names[place] for place in columns],
    )
    ids, sizes = np.unique(explanation.clusters, return_counts=True)
    counts = dict(zip(ids.tolist(), sizes.tolist(), strict=True))
    summary = summarise(some)
    clusters = [_of_all(one, counts[one.cluster], explanation) for one in summary]
    return replace(summary, clusters=clusters), len(rows)


def _of_all(one: ClusterSummary, size: int, explanation: Explanation) -> ClusterSummary:
    """The size that a cluster has in all rows, and no name that was proposed from some."""
    given = one.cluster in explanation.names or is_name(one.cluster)
    return replace(one, size=size, share=size / len(explanation), name=one.name if given else "")


def _some_rows(explanation: Explanation) -> NDArray:
    """Rows of each cluster, evenly spaced; where a cluster was chosen, of each that rows are in."""
    own, other = (
        np.unique(ids, return_inverse=True)[1] for ids in (explanation.clusters, explanation.labels)
    )
    group = own * (other.max() + 1) + other
    order = np.argsort(group, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(group[order])) + 1)
    most = max(_FEWEST_ROWS, _READ // 4 // (explanation.shape[1] * len(parts)))
    places = [np.linspace(0, len(part) - 1, min(most, len(part))).astype(int) for part in parts]
    return np.sort(np.concatenate([part[place] for part, place in zip(parts, places, strict=True)]))


def _pictures(explanation: Explanation) -> dict[Any, str]:
    """The mean of each cluster as its kind shows it, where it does."""
    if not explanation.kind.item_shape:
        return {}
    found = {one: _picture(explanation, one) for one in np.unique(explanation.clusters).tolist()}
    return {one: shown for one, shown in found.items() if shown is not None}


def _picture(explanation: Explanation, cluster: Any) -> str | None:
    if explanation.is_factored or not 0 < int(np.prod(explanation.kind.item_shape or (0,))) <= _PIXELS:
        return None
    rows = np.flatnonzero(explanation.clusters == cluster)
    caption = (
        f"mean of {explanation.named(cluster)}" if len(rows) > 1 else f"row {explanation.index[rows[0]]}"
    )
    some = explanation[rows[:: -(-len(rows) // 200)]]
    shown = some.kind.show(some.data, np.asarray(some.values), np.arange(len(some)), caption)
    return None if shown is None else f'<div style="line-height:0">{_scaled(shown)}</div>'


def _scaled(shown: str) -> str:
    """Images of a few pixels, large enough to be seen."""
    size = "width:4.5rem;image-rendering:pixelated;margin:0 .3rem .2rem 0;display:inline-block"
    return shown.replace("<img ", f'<img style="{size}" ')
