"""Audit: what was measured, and what it means."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from whyclust._html import AGAINST, FOR, NEITHER, bar, name, paragraph, quiet, table
from whyclust.auditing.answers import Answer
from whyclust.auditing.comparison import Comparison
from whyclust.auditing.meaning import meaning
from whyclust.auditing.refits import Refits
from whyclust.auditing.standing import Standing
from whyclust.cluster.fidelity import Fidelity
from whyclust.saving.atomic import write_figure
from whyclust.telling.rounding import count

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Ours and the one that knows nothing stand out among the others.
_COLOURS = {"neon": FOR, "random": AGAINST}


@dataclass(frozen=True, eq=False, repr=False)
class Audit:
    """Whether explanations of a clustering can be trusted on these rows.

    Attributes
    ----------
    trusted : {"yes", "with care", "no"}
        The worst of the answers; :mod:`whyclust.auditing.verdict` says where the thresholds are.
    verdict : list of str
        Plain sentences: the answer with its reasons, what it means, then the numbers.
    answers : tuple of Answer
        To each question (structure, stability, faithfulness): ``answer`` and ``reason``.
    standing : Standing
        How many clusters stand apart, in ``standing.found``, and outliers that are clusters.
    comparison : Comparison
        Results of Algorithm 1 for every method, in ``comparison.results``.
    refits : Refits
        Stability under other rows (``refits.bootstrap``) and other seeds (``refits.reseed``).
    fidelity : Fidelity or None
        How well the surrogate of labels reproduces them, where there is one.
    clusters : ndarray
        The clusters that were explained.
    settings : dict
        Rows, columns, repeats, refits and the seed.
    notes : list of str
        What else there is to know: methods that do not apply, warnings of refits.
    """

    trusted: str
    verdict: list[str]
    answers: tuple[Answer, ...]
    standing: Standing
    comparison: Comparison
    refits: Refits
    fidelity: Fidelity | None
    clusters: NDArray
    settings: dict[str, Any]
    notes: list[str]

    @property
    def meaning(self) -> str:
        """What the answers mean for using the clusters and the reasons, in plain words."""
        return meaning(self.answers)

    @property
    def methods(self) -> pd.DataFrame:
        """One line per method, the best first: area, standard error, difference from NEON, 95% interval."""
        return self.comparison.to_pandas()

    @property
    def stability(self) -> pd.DataFrame | None:
        """One line per cluster: Jaccard similarity in refits and its reading; None where there were none."""
        return self.refits.to_pandas()

    @property
    def best(self) -> str:
        """The method with the largest area."""
        return self.comparison.best

    def describe(self) -> str:
        """The verdict, a line for each of its sentences."""
        return "\n".join(self.verdict)

    def to_json(self) -> dict[str, Any]:
        """Return plain values: numbers, text, lists and dictionaries."""
        kept = {
            source: {
                name: None if one is None else {"mean": one.mean, "se": one.standard_error}
                for name, one in [("share", found.share), ("ari", found.ari), ("relevance", found.pearson)]
            }
            for source, found in self.refits.known.items()
        }
        return {
            "trusted": self.trusted,
            "verdict": list(self.verdict),
            "answers": {one.question: {"answer": one.answer, "reason": one.reason} for one in self.answers},
            "structure": _plain(self.standing.to_json()),
            "best": self.best,
            "room": self.comparison.room,
            "methods": _records(self.methods),
            "stability": _records(self.stability),
            "refits": kept,
            "stability_unknown": self.refits.unknown,
            "fidelity": None if self.fidelity is None else _plain(self.fidelity.to_json()),
            "settings": dict(self.settings),
            "notes": list(self.notes),
        }

    def plot(self, path: str | Path | None = None) -> Any:
        """Draw methods with error bars and the stability of clusters; needs matplotlib.

        Parameters
        ----------
        path : path-like, optional
            Also write the drawing to this file (.png, .svg, .pdf, ...).

        Returns
        -------
        matplotlib.figure.Figure
        """
        from whyclust.auditing.figure import draw

        figure = draw(self)
        if path is not None:
            write_figure(figure, Path(path))
        return figure

    def __repr__(self) -> str:
        neon, floor = self.comparison.results["neon"], self.comparison.results["random"]
        least = "unknown" if self.stability is None else f"at least {self.stability['jaccard'].min():.2f}"
        return (
            f"<Audit: {self.trusted}; area {neon.auc:.1f} ± {neon.error:.1f} (random {floor.auc:.1f}), "
            f"best {self.best}; stability {least}; {self.settings['n_scored']} of "
            f"{self.settings['n_rows']} rows scored>"
        )

    def _repr_html_(self) -> str:
        first, *others = [escape(sentence) for sentence in self.verdict]
        told = paragraph(f"<strong>{first}</strong>") + "".join(map(paragraph, others))
        told += table(["order of the columns", "area", "error", "NEON is"], _method_lines(self.methods))
        if self.stability is None:
            return told
        return told + table(["cluster", "rows", "comes back (Jaccard)", ""], _cluster_lines(self.stability))


def _method_lines(methods: pd.DataFrame) -> list[list[str]]:
    """Lines of a table, for notebooks."""
    lines = []
    for one in methods.to_dict("records"):
        order = f"{name(one['what'])} {quiet(escape(one['method']))}"
        drawn = bar(one["auc"] / 100, _COLOURS.get(one["method"], NEITHER))
        lines.append([order, f"{drawn}{one['auc']:.1f}", quiet(f"± {one['se']:.1f}"), escape(one["neon_is"])])
    return lines


def _cluster_lines(stability: pd.DataFrame) -> list[list[str]]:
    lines = []
    for one in stability.to_dict("records"):
        back = f"{bar(one['jaccard'])}{one['jaccard']:.2f}"
        lines.append([name(str(one["cluster"])), count(one["rows"]), back, escape(one["reading"])])
    return lines


def _records(frame: pd.DataFrame | None) -> list[dict[str, Any]] | None:
    return None if frame is None else _plain(frame.to_dict("records"))


def _plain(value: Any) -> Any:
    """Values that JSON has: what is missing is None."""
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_plain(entry) for entry in value]
    if value is pd.NA or (isinstance(value, (float, np.floating)) and not np.isfinite(value)):
        return None
    return value.item() if isinstance(value, np.generic) else value
