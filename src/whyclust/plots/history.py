"""A picture of a training: the terms of the loss, epoch by epoch and phase by phase."""

from __future__ import annotations

from typing import Any

import numpy as np

from whyclust.plots.drawing import axes_of, clipped, cluster_colour
from whyclust.plots.undoing import steps_of

# Where a term falls by more than this, its end is not seen on a linear axis.
_WIDE = 20.0


def history(model: Any, *, ax: Any = None) -> Any:
    """Draw how the terms of the loss went, epoch by epoch; dotted lines part the phases of the training.

    The axis is logarithmic where all terms are positive and differ much.

    Parameters
    ----------
    model : fitted deep clustering or selector, or Pipeline that ends in one
        With `history_`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import numpy as np
    >>> import whyclust as wc
    >>> X = np.random.default_rng(0).normal(size=(60, 3)).astype(np.float32)
    >>> deep = wc.deep.AutoencoderKMeans(2, hidden=(4,), epochs=3, random_state=0).fit(X)
    >>> wc.plots.history(deep).get_title()
    'The training of AutoencoderKMeans: 3 epochs'
    """
    trained = next((step for step in reversed(steps_of(model)) if hasattr(step, "history_")), None)
    if trained is None:
        name = model.__name__ if isinstance(model, type) else type(model).__name__
        raise TypeError(
            f"{name} has no history, expected a fitted model of whyclust.deep, or a Pipeline with one."
        )
    phases = [(name, terms) for name, terms in trained.history_.items() if any(map(len, terms.values()))]
    terms = list(dict.fromkeys(term for _, found in phases for term in found))
    ax = axes_of(ax, 7.0, 4.0)
    first, values = 0, []
    for number, (phase, found) in enumerate(phases):
        length = max(len(line) for line in found.values())
        for term, line in found.items():
            epochs = np.arange(first + 1, first + 1 + len(line))
            marker = "." if len(line) <= 30 else ""
            told = f"_{term}" if any(term in before for _, before in phases[:number]) else clipped(term)
            ax.plot(epochs, line, color=cluster_colour(terms.index(term)), marker=marker, label=told)
            values.extend(line)
        if number:
            ax.axvline(first + 0.5, color="#555b63", linestyle=":", linewidth=1.0)
        if len(phases) > 1:
            middle = first + 0.5 + length / 2.0
            across = ax.get_xaxis_transform()
            ax.text(middle, 1.01, clipped(phase, 24), transform=across, ha="center", va="bottom", fontsize=8)
        first += length
    known = np.array([value for value in values if np.isfinite(value)])
    if len(known) and known.min() > 0 and known.max() / known.min() > _WIDE:
        ax.set_yscale("log")
    ax.set_xlim(0.5, max(first, 1) + 0.5)
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set_xlabel("epoch", fontsize=8)
    ax.set_ylabel(clipped(terms[0]) if len(terms) == 1 else "terms of the loss", fontsize=8)
    ax.tick_params(labelsize=8)
    ax.grid(color="#e8ebef", linewidth=0.6)
    if len(terms) > 1:
        ax.legend(fontsize=8, frameon=False)
    epochs_told = f"{first:,} epoch{'s' if first != 1 else ''}"
    pad = 18 if len(phases) > 1 else 6
    ax.set_title(f"The training of {type(trained).__name__}: {epochs_told}", fontsize=10, pad=pad, wrap=True)
    return ax
