"""A picture of how faithful explanations are: the curves of Algorithm 1."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from whyclust._checks import whole_number
from whyclust.explaining.explanation import Explanation
from whyclust.metrics.flipping import FlippingResult, flipping_auc
from whyclust.plots.drawing import NEITHER, axes_of, clipped, cluster_colour, rows_told
from whyclust.plots.registry import plot

_MOST_ROWS = 200
# Algorithm 1 costs the square of the number of columns, for each row and repeat.
_MOST_STEPS = 20_000_000
_MOST_COLUMNS = 500


@plot
def flipping(
    explanation: Any, *, n_repeats: int = 5, random_state: int = 0, background: Any = None, ax: Any = None
) -> Any:
    """Draw how soon rows are in their cluster when the most relevant columns are added first.

    The better the order, the sooner the curve rises; the area under it is the score.

    Parameters
    ----------
    explanation : Explanation, FlippingResult or dict of name to FlippingResult
        Of an explanation at most 200 rows are scored, at random, beside columns in random order. Results
        of :func:`whyclust.metrics.flipping_auc` are drawn as they are: ``{"neon": ..., "shap": ...}``.
    n_repeats : int
        Draws for each row and number of columns, of an explanation.
    random_state : int
        Of the draws, of an explanation.
    background : table, optional
        Rows that unknown columns are filled in from; by default those of the explanation.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import whyclust as wc
    >>> from sklearn.cluster import KMeans
    >>> from sklearn.datasets import load_iris
    >>> X = load_iris(as_frame=True).data
    >>> ex = wc.explain(KMeans(3, n_init=1, random_state=0).fit(X), X)
    >>> ex[:30].plot.flipping().get_title()
    'How soon rows are in their cluster (30 rows)'
    """
    note = ""
    if isinstance(explanation, Explanation):
        results, count = _scored(explanation, whole_number("n_repeats", n_repeats), random_state, background)
        of = f"{count:,} of " if count < len(explanation) else ""
        note = f" ({of}{rows_told(len(explanation))})"
    else:
        results = _read(explanation)
    orders = {result.order for result in results.values()}
    lengths = {len(result.curve) for result in results.values()}
    if len(orders) > 1 or len(lengths) > 1:
        raise ValueError(
            "These results add and remove columns, or have different numbers of them: draw them apart."
        )
    ax = axes_of(ax, 6.4, 4.0)
    for number, (name, result) in enumerate(results.items()):
        chance = name == "random order"
        ax.plot(
            np.arange(len(result.curve)),
            result.curve,
            color=NEITHER if chance else cluster_colour(number),
            linestyle="--" if chance else "-",
            marker="." if len(result.curve) <= 30 else "",
            label=f"{clipped(name)}: {result.auc:.1f} ± {result.error:.1f}",
        )
    ax.set_ylim(-0.02, 1.02)
    ax.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    ax.xaxis.get_major_locator().set_params(integer=True)
    insert = orders == {"insert"}
    ax.set_xlabel(
        f"columns {'added, the most' if insert else 'removed, the most'} relevant first", fontsize=8
    )
    ax.set_ylabel("rows in their cluster", fontsize=8)
    ax.tick_params(labelsize=8)
    ax.grid(color="#e8ebef", linewidth=0.6)
    ax.legend(fontsize=8, frameon=False, title="area under the curve", title_fontsize=8)
    soon = "How soon rows are in their cluster" if insert else "How long rows stay in their cluster"
    ax.set_title(f"{soon}{note}", fontsize=10, wrap=True)
    return ax


def _read(given: Any) -> dict[str, FlippingResult]:
    """Results by name."""
    named = given if isinstance(given, Mapping) else {"explanation": given}
    for result in named.values():
        if not isinstance(result, FlippingResult):
            raise TypeError(
                f"{type(result).__name__} was given, expected an explanation, or results of "
                "wc.metrics.flipping_auc, alone or by name."
            )
    if not named:
        raise ValueError("No results were given, expected one or more of wc.metrics.flipping_auc, by name.")
    return {str(name): result for name, result in named.items()}


def _scored(
    explanation: Explanation, n_repeats: int, random_state: int, background: Any
) -> tuple[dict[str, FlippingResult], int]:
    """The explanation's score, and that of columns in random order."""
    columns = explanation.shape[1]
    if columns > _MOST_COLUMNS:
        raise ValueError(
            f"Algorithm 1 costs the square of the number of columns, expected at most {_MOST_COLUMNS} and "
            f"got {columns:,}: choose columns before the clustering (whyclust.select)."
        )
    network = explanation._origin().network
    if explanation._origin().table.shape[1] != columns:
        raise ValueError("Groups of columns are not added one by one: explain without groups=.")
    most = min(_MOST_ROWS, max(10, _MOST_STEPS // (columns * columns * n_repeats)))
    generator = np.random.default_rng(random_state)
    rows = np.sort(generator.permutation(len(explanation))[:most])
    part = explanation[rows]
    if background is None:
        background = explanation.data
    settings: dict[str, Any] = {
        "n_repeats": n_repeats,
        "random_state": random_state,
        "background": background,
    }
    chance = generator.random(part.shape)
    return {
        "by relevance": flipping_auc(network, part.data, part, **settings),
        "random order": flipping_auc(network, part.data, replace(part, values=chance), **settings),
    }, len(part)
