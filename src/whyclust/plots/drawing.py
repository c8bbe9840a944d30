"""What several pictures are made of: axes, the colours of for and against, tables, points."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whyclust._checks import counted, did_you_mean
from whyclust._clusters import cluster_meant, clusters_listed
from whyclust._extras import missing
from whyclust.explaining.choosing import HasRows, is_label, positions_of
from whyclust.explaining.explanation import Explanation
from whyclust.plots.undoing import column_names, usual
from whyclust.saving.atomic import write_figure

# The one convention of all pictures, shap's too: red speaks for the cluster, blue against it. Both are
# ends of SIGNED, which colour-blind people tell apart.
FOR, AGAINST, NEITHER = "#b2182b", "#2166ac", "#8a929c"
SIGNED = "RdBu_r"
# Bars that sum several columns are paler.
SUMMED = 0.5
SAID = "red speaks for the cluster, blue against it"

# Numbers are written into the cells of tables of at most so many columns.
_MOST_WRITTEN = 14
# In a table of more columns only those that differ most between its rows are drawn.
_MOST_COLUMNS = 60
# Okabe and Ito's colours, and two that colour-blind people tell from them, as on the report's page; further
# clusters have other markers.
_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#7C4A1C", "#56B4E9", "#A264F6")
_MARKERS = ("o", "^", "s", "D", "v", "P", "*", "X")


def new_figure(**options: Any) -> Any:
    """A figure for several axes, pyplot's current one where a script uses pyplot: ``plt.savefig`` means it.

    A notebook displays what a cell returns, and at the end of the cell pyplot's figures once more; so there
    it is not one of these. It knows how to display one only after pyplot was imported.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise missing("whyclust.plots", "plots") from None
    plt = _pyplot()
    return (Figure if plt is None or _in_notebook() else plt.figure)(**options)


def _in_notebook() -> bool:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None


def _pyplot() -> Any:
    """pyplot where the user has imported it, or works in a notebook; otherwise None."""
    if "matplotlib.pyplot" not in sys.modules and not _in_notebook():
        return None
    import matplotlib.pyplot as plt

    return plt


def finished(figure: Any, path: str | Path | None) -> Any:
    """The figure, written to a file where one is named."""
    if path is not None:
        write_figure(figure, Path(path))
    return figure


def positions(rows: Any, known: HasRows, called: str = "rows") -> list[int]:
    """Positions of rows that the user named, as an explanation reads them: ``ex[rows]``."""
    listed = isinstance(rows, range) or (isinstance(rows, tuple) and not is_label(known, rows))
    rows = list(rows) if listed else rows
    try:
        chosen = np.atleast_1d(np.arange(len(known))[positions_of(known, rows)])
    except (IndexError, TypeError, ValueError):
        chosen = np.empty((0, 0))
    if chosen.ndim != 1 or not len(chosen):
        raise ValueError(
            f"{called}={rows!r}, expected positions from 0 to {len(known) - 1}, or labels of rows."
        )
    return [int(row) for row in chosen]


def position(row: Any, known: HasRows) -> int:
    """The position of a single row, by its position or label."""
    found = positions(row, known, "row")
    if len(found) > 1:
        raise ValueError(f"row={row!r} stands for {len(found)} rows, expected a single one.")
    return found[0]


# --- axes and what is said on them ---------------------------------------------------------------------


def axes_of(ax: Any, width: float, height: float) -> Any:
    """The axes given, or those of a new figure of so many inches.

    The figure is pyplot's current one where pyplot is in use: a notebook displays it at the end of the cell,
    and ``plt.savefig`` and ``plt.show`` mean it.
    """
    if ax is None:
        plt = _pyplot()
        made = new_figure if plt is None else plt.figure
        return made(figsize=(width, height), layout="constrained").subplots()
    if not hasattr(ax, "barh"):
        raise TypeError(
            f"ax is a {type(ax).__name__}, expected matplotlib axes: figure.subplots() makes them."
        )
    return ax


def refuse_other(explanation: Any) -> None:
    """Raise if this is no explanation."""
    if not isinstance(explanation, Explanation):
        kind = type(explanation).__name__
        raise TypeError(f"{kind} was given, expected an explanation: wc.explain(model, X).")


def measured(explanation: Explanation) -> tuple[str, str]:
    """What values are, and what their colours say."""
    if explanation.question.about == "ignored":
        return "relevance for the shared space", "red adds to what is ignored, blue takes from it"
    if explanation.provenance.measures is not None:
        return explanation.provenance.measures, "red is positive, blue negative"
    return "relevance", SAID


def no_reason(explanation: Explanation) -> str | None:
    """What a title says is drawn, where values are no reasons for a cluster; else None."""
    if explanation.question.about == "ignored":
        return "What is ignored"
    measures = explanation.provenance.measures
    if measures is None:
        return None
    # What it does not know of clusters is said at the axis.
    return f"{measures[0].upper()}{measures[1:]}".split(",")[0]


def clipped(name: str, most: int = 32) -> str:
    """A name that leaves room for the picture."""
    return name if len(name) <= most else f"{name[: most - 1]}…"


def chosen_clusters(explanation: Explanation, cluster: Any, most: int) -> tuple[list[Any], str]:
    """Clusters to draw, and what is said where they are not all: the one or those named, or the largest."""
    return _chosen(explanation, explanation.clusters, cluster, most, "one that is explained")


def chosen_labels(explanation: Explanation, cluster: Any, most: int) -> tuple[list[Any], str]:
    """The same of the clusters that rows are in, whichever was explained."""
    return _chosen(explanation, explanation.labels, cluster, most, "one that has rows here")


def _chosen(
    explanation: Explanation, ids: NDArray, cluster: Any, most: int, expected: str
) -> tuple[list[Any], str]:
    found, counts = np.unique(ids, return_counts=True)
    sizes = dict(zip(found.tolist(), counts.tolist(), strict=True))
    known = explanation.in_order(sizes)
    if cluster is not None:
        listed = list(cluster) if np.iterable(cluster) and not isinstance(cluster, str) else [cluster]
        meant = [cluster_meant(one, known) for one in listed]
        if None in meant:
            one = listed[meant.index(None)]
            hint = did_you_mean(one, [str(cluster) for cluster in known])
            raise ValueError(f"cluster={one!r}, expected {expected}: {clusters_listed(known)}{hint}")
        return meant, ""
    if len(known) <= most:
        return known, ""
    largest = set(sorted(known, key=lambda one: -sizes[one])[:most])
    return [one for one in known if one in largest], f"the {most} largest of {len(known)} clusters"


# --- values --------------------------------------------------------------------------------------------


def signed(values: Any) -> list[str]:
    """Colours of bars: for, against, or neither."""
    return [FOR if value > 0 else AGAINST if value < 0 else NEITHER for value in np.atleast_1d(values)]


def value_of(explanation: Explanation, row: int, column: int) -> str:
    """The user's own value, in short."""
    value = explanation._column(column)[row]
    try:
        return short(float(value))
    except (TypeError, ValueError):
        return clipped(str(value), 16)


def numbers_beside(
    axis: Any, places: Sequence[float], ends: Sequence[float], values: Sequence[float], long: Sequence[bool]
) -> None:
    """Numbers at the ends of bars, and an axis on which those of columns can be told apart.

    Of thousands of columns the sum is far longer than any single one: bars that are called `long` run out of
    the picture then, and an arrow says so.
    """
    usual = [0.0, *(end for end, is_long in zip(ends, long, strict=True) if not is_long)]
    span = (max(usual) - min(usual)) or 1.0
    if min(ends) > min(usual) - 2.0 * span and max(ends) < max(usual) + 2.0 * span:
        usual = [0.0, *ends]
        span = (max(usual) - min(usual)) or 1.0
    low = min(usual) - 0.16 * span if min(usual) < 0 else 0.0
    high = max(usual) + 0.16 * span if max(usual) > 0 else 0.0
    axis.set_xlim(low, high if high > low else 1.0)
    for place, end, value in zip(places, ends, values, strict=True):
        outside = not low <= end <= high
        right = (value >= 0) != outside
        text = with_sign(value)
        if outside:
            text = f"{text} →" if value >= 0 else f"← {text}"
        axis.annotate(
            text,
            (min(max(end, low), high), place),
            xytext=(3 if right else -3, 0),
            textcoords="offset points",
            ha="left" if right else "right",
            va="center",
            fontsize=7,
            color="w" if outside else "#333333",
        )


def with_sign(value: float) -> str:
    """A number with its sign, in short."""
    return f"{'+' if value > 0 else ''}{short(value)}"


def line_labels(axis: Any, names: Sequence[str], size: float = 8.0) -> None:
    """Names of lines, from the top to the bottom."""
    axis.set_yticks(range(len(names)), names, fontsize=size)
    axis.set_ylim(len(names) - 0.4, -0.6)
    axis.tick_params(axis="y", length=0)
    for side in ("top", "right", "left"):
        axis.spines[side].set_visible(False)
    axis.tick_params(axis="x", labelsize=8)


def rows_told(count: int) -> str:
    """So many rows, in words."""
    return f"{count:,} rows" if count != 1 else counted(1, "row")


# --- tables -----------------------------------------------------------------------------------------


def table_size(n_rows: int, n_columns: int) -> tuple[float, float]:
    """Inches of a table of colours."""
    across = min(n_columns, _MOST_COLUMNS)
    width = max(4.0, min(0.75, 14.0 / across) * across)
    return width + 1.2, 0.36 * max(n_rows, 4) + 1.6


def table_in(
    figure: Any,
    model: Any,
    rows: NDArray,
    names: Sequence[str],
    feature_names: Sequence[str] | None,
    *,
    together: int | None = None,
) -> Any:
    """Rows as colours: how far each is above or below the mean of the data, in standard deviations.

    Those of columns that hardly vary are taken for larger (see `usual`), else they would be all that is seen.
    Lines part the rows after each so many that belong `together`. Of many columns those are drawn that
    differ most between the rows.
    """
    columns = column_names(model, feature_names, rows.shape[1])
    mean, deviations = usual(model)
    colours = (rows - mean) / deviations
    axis = figure.subplots()
    if len(columns) > _MOST_COLUMNS:
        kept = np.sort(np.argsort(-colours.std(axis=0), kind="stable")[:_MOST_COLUMNS])
        axis.set_xlabel(
            f"the {len(kept)} of {len(columns)} columns in which these rows differ most", fontsize=8
        )
        rows, colours, columns = rows[:, kept], colours[:, kept], [columns[place] for place in kept]
    drawn = axis.imshow(colours, cmap="RdBu_r", vmin=-2.5, vmax=2.5, aspect="auto")
    axis.set_yticks(range(len(names)), names, fontsize=8)
    axis.set_xticks(range(len(columns)), columns, rotation=60, ha="right", rotation_mode="anchor", fontsize=8)
    if len(columns) <= _MOST_WRITTEN:
        for i, j in np.ndindex(*rows.shape):
            dark = abs(colours[i, j]) > 1.5
            colour = "w" if dark else "k"
            axis.text(j, i, short(float(rows[i, j])), ha="center", va="center", fontsize=7, color=colour)
    for place in range(together or len(rows), len(rows), together or len(rows)):
        axis.axhline(place - 0.5, color="k", linewidth=1.0)
    figure.colorbar(drawn, ax=axis, label="standard deviations\nfrom the mean of the data", fraction=0.03)
    return axis


def short(value: float) -> str:
    """A number in a cell, or beside a bar."""
    if np.isnan(value):
        return "missing"
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e6 else f"{value:.3g}"


def cluster_colour(number: int) -> str:
    """The colour of the cluster, or of the line, of this number; they come again after eight."""
    return _COLOURS[number % len(_COLOURS)]


# --- points -----------------------------------------------------------------------------------------


def points_on(axis: Any, x: NDArray, y: NDArray, codes: NDArray) -> None:
    """Points in the colour and with the marker of their cluster, in the order given.

    Clusters that share a marker are drawn at once, so that none of them hides the others.
    """
    size = float(np.clip(12_000.0 / max(len(x), 1), 5.0, 22.0))
    for number in np.unique(codes // len(_COLOURS)):
        chosen = codes // len(_COLOURS) == number
        colours = [_COLOURS[code % len(_COLOURS)] for code in codes[chosen]]
        marker = _MARKERS[number % len(_MARKERS)]
        axis.scatter(x[chosen], y[chosen], c=colours, marker=marker, s=size, alpha=0.7, linewidths=0)


def cluster_key(axis: Any, names: Sequence[str]) -> None:
    """The clusters' colours and markers, to the right of the axes."""
    columns = -(-len(names) // 25)
    axis.legend(
        handles=_handles(names),
        loc="upper left",
        bbox_to_anchor=(1.01, 1.0),
        borderaxespad=0.0,
        fontsize=8 if columns == 1 else 6.5,
        frameon=False,
        ncols=columns,
        handletextpad=0.2,
        columnspacing=0.8,
    )


def legend_outside(figure: Any, names: Sequence[str], title: str, *, below: bool = False) -> None:
    """The clusters' colours and markers, to the right of all that is drawn, or below it."""
    figure.legend(
        handles=_handles(names),
        loc="outside lower center" if below else "outside right upper",
        title=title,
        fontsize=8,
        title_fontsize=8,
        ncols=min(len(names), 8) if below else -(-len(names) // 20),
    )


def _handles(names: Sequence[str]) -> list[Any]:
    from matplotlib.lines import Line2D

    return [
        Line2D(
            [],
            [],
            linestyle="",
            markersize=6,
            markeredgewidth=0,
            label=name,
            color=_COLOURS[code % len(_COLOURS)],
            marker=_MARKERS[code // len(_COLOURS) % len(_MARKERS)],
        )
        for code, name in enumerate(names)
    ]
