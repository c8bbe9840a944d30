"""Shapley values of the evidence, by shap's model-agnostic explainers."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whyclust._checks import one_of, whole_number
from whyclust._extras import missing
from whyclust._progress import done
from whyclust.baselines.asked import Asked, Attribution, seeded
from whyclust.baselines.registry import baseline

EXPLAINERS = ("permutation", "kernel")


def import_shap(method: str) -> Any:
    """Import shap where it is used, or say what to install."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of packages that shap imports
            import shap
    except ImportError:
        raise missing(f"method={method!r}", "shap") from None
    return shap


@baseline(
    "shap",
    title="Shapley values, sampled",
    scores='Shapley values of f_c, estimated by shap; `explainer` is `"permutation"` or `"kernel"`',
    needs="shap",
)
def shapley(
    asked: Asked,
    *,
    explainer: str = "permutation",
    n_background: int = 50,
    n_evaluations: int | None = None,
    random_state: Any = 0,
) -> Attribution:
    """Shapley values of f_c, the cluster of each row held fixed.

    Parameters
    ----------
    asked : Asked
    explainer : {"permutation", "kernel"}
        shap's PermutationExplainer or KernelExplainer.
    n_background : int
        Rows of the background that stand for absent columns, drawn at random.
    n_evaluations : int, optional
        Sets of columns tried for a row. By default those of ten permutations there and back, and for
        the kernel explainer what shap takes for enough.
    random_state : int, Generator, RandomState or None
    """
    explainer = one_of("explainer", explainer, EXPLAINERS)
    shap = import_shap("shap")
    generator = seeded(random_state)
    count = min(whole_number("n_background", n_background), len(asked.background))
    chosen = np.sort(generator.choice(len(asked.background), count, replace=False))
    background = asked.background[chosen]
    width = asked.points.shape[1]
    least = 2 * width + 1
    if n_evaluations is not None:
        n_evaluations = whole_number("n_evaluations", n_evaluations, least)
    values, base = np.zeros_like(asked.points), np.zeros(len(asked.points))
    others = np.zeros_like(asked.clusters) if asked.against is None else asked.against
    seed = int(generator.integers(2**31))
    # shap takes columns that differ by 1e-5 of their size for equal, so it sees them around zero.
    middle, unit = asked.background.mean(axis=0), asked.background.std(axis=0)
    unit[unit == 0] = 1.0
    points, background = (asked.points - middle) / unit, (background - middle) / unit
    usual = 10 * least if explainer == "permutation" else 2 * width + 2048
    seen, expected = 0, len(points) * count * (n_evaluations or usual)
    # shap explains functions of the point alone: rows of one question go together.
    for pair in np.unique(np.stack([asked.clusters, others]), axis=1).T:
        rows = np.flatnonzero((asked.clusters == pair[0]) & (others == pair[1]))

        def evidence(moved: NDArray, example: int = int(rows[0])) -> NDArray:
            nonlocal seen
            seen += len(moved)
            done(seen / expected)
            return asked.evidence(middle + unit * moved, np.full(len(moved), example))

        with _seeded_globally(seed), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # shap's own, about the versions of others
            if explainer == "kernel":
                kernel = shap.KernelExplainer(evidence, background)
                values[rows] = kernel.shap_values(
                    points[rows], nsamples=n_evaluations or "auto", l1_reg=False, silent=True
                )
            else:
                masker = shap.maskers.Independent(background, max_samples=count)
                permutation = shap.PermutationExplainer(evidence, masker, seed=seed)
                found = permutation(points[rows], max_evals=n_evaluations or 10 * least, silent=True)
                values[rows] = found.values
        base[rows] = evidence(background).mean()
    return Attribution(values, base)


@contextmanager
def _seeded_globally(seed: int) -> Iterator[None]:
    """Seed numpy's global generator, which shap draws from, and leave it as it was found."""
    state = np.random.get_state()  # noqa: NPY002
    np.random.seed(seed)  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(state)  # noqa: NPY002
