"""How smooth may a surrogate be? Cross-validated agreement, and the one-standard-error rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from whyclust._progress import stage
from whyclust.cluster._distances import FloatArray, IntArray
from whyclust.cluster._fine_tuning import fine_tune
from whyclust.cluster._labelled_rows import PRICES, LabelledRows, Setting, start_together

SUPPORT_COUNTS = (1, 2, 4, 8, 16, 32, 64)
# γ in units of what the spread around the prototypes suggests. Much smaller ones would let
# prototypes far from the rows do the work of those among them.
SHARPNESS = (0.5, 1.0, 2.0, 4.0)
SHRINKAGE = (1.0, 2.0, 3.0, 4.0, 6.0, 8.0)
# Multiplications of one pass over the rows beyond which more prototypes are not tried.
_MOST_WORK = 2e8
_FEW_ROWS = 500
# Prototypes in this share of the rows, or more, stand for little but themselves.
_MOST_PROTOTYPES = 0.5


def deal_folds(codes: IntArray, n_folds: int, seed: int) -> IntArray:
    """Give every row a fold so that each cluster is spread over the folds as evenly as it can be.

    Examples
    --------
    >>> folds = deal_folds(np.array([0, 0, 0, 1, 1, 1]), 3, seed=0)
    >>> sorted(folds[:3].tolist()), sorted(folds[3:].tolist())
    ([0, 1, 2], [0, 1, 2])
    """
    generator = np.random.default_rng(seed)
    order = generator.permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    folds = np.empty(len(codes), dtype=np.intp)
    folds[order] = np.arange(len(codes)) % n_folds
    return folds


@dataclass(frozen=True)
class Fold:
    """Rows that are seen, and the others: where they are, and their points in the same units."""

    seen: LabelledRows
    held_out: IntArray
    points: FloatArray


class Validation:
    """Held-out agreement of settings, on the same folds for all.

    Parameters
    ----------
    rows : LabelledRows
    n_folds : int
    seed : int, optional
        By which rows are dealt out; by default that of the rows.
    rescale : callable, optional
        ``rescale(seen)`` returns by what columns must be divided where only these rows are known. In
        tables of more columns than rows units are as much learned as prototypes are: a column that is
        nearly constant among the rows seen puts any other row far from all clusters.
    """

    def __init__(
        self,
        rows: LabelledRows,
        n_folds: int,
        seed: int | None = None,
        rescale: Callable[[IntArray], FloatArray] | None = None,
    ):
        self.rows, self.rescale = rows, rescale
        self.slim = rows.slim()
        self.n_folds = min(n_folds, len(rows.codes))
        self.seed = rows.seed if seed is None else seed
        # Of few rows one way to deal them out says more of the deal than of the setting.
        self.n_deals = 2 if len(rows.codes) <= _FEW_ROWS else 1
        self.tried: dict[Setting, FloatArray] = {}

    @cached_property
    def _deals(self) -> list[list[Fold]]:
        return self._dealt(turned=False)

    @cached_property
    def _turned_deals(self) -> list[list[Fold]]:
        return self._deals if self.slim is self.rows else self._dealt(turned=True)

    def _dealt(self, *, turned: bool) -> list[list[Fold]]:
        deals = []
        for deal in range(self.n_deals):
            folds = deal_folds(self.rows.codes, self.n_folds, self.seed + deal)
            deals.append([self._fold(folds != fold, turned) for fold in range(self.n_folds)])
        return deals

    def _fold(self, seen: NDArray[np.bool_], turned: bool) -> Fold:
        rows, held_out = self.rows, np.flatnonzero(~seen)
        if self.rescale is not None:
            rows = replace(rows, points=rows.points / self.rescale(np.flatnonzero(seen)))
            rows = rows.slim() if turned else rows
        elif turned:
            rows = self.slim
        return Fold(rows.take(np.flatnonzero(seen)), held_out, rows.points[held_out])

    def logits(self, settings: Sequence[Setting], *, roughly: bool = False) -> list[FloatArray]:
        """γ-scaled logits of every row from surrogates that have not seen it, of shape (deals, rows, labels).

        Noise is the last label. All folds of all settings are fitted at a time.
        """
        # Shrinkage holds single columns fast, so that they must be there.
        turned = all(setting.shrinkage == 0 for setting in settings)
        deals = self._turned_deals if turned else self._deals
        folds = [(deal, fold) for deal, of_deal in enumerate(deals) for fold in of_deal]
        for count in {setting.n_support for setting in settings}:
            start_together([fold.seen for _, fold in folds], count)
        tasks = [fold.seen.task(setting) for _, fold in folds for setting in settings]
        fitted = iter(fine_tune(tasks, roughly=roughly))
        shape = (self.n_deals, len(self.rows.codes), self.rows.n_clusters + self.rows.has_noise)
        results = [np.full(shape, -np.inf) for _ in settings]
        for deal, fold in folds:
            for setting, result in zip(settings, results, strict=True):
                factor = float(np.sqrt(2.0 * setting.gamma))
                logits = next(fitted).scaled(factor).logits(fold.points * factor)
                result[deal, fold.held_out, : logits.shape[1]] = logits
        return results

    def try_out(self, settings: Sequence[Setting]) -> None:
        """Measure the agreement of several settings at a time."""
        new = [setting for setting in dict.fromkeys(settings) if setting not in self.tried]
        if new:
            stage(f"Fitting a surrogate: {new[0].told}")
            # Columns are left out only as far as nothing changes, which takes more than a rough look. So do
            # few rows of many columns: all settings soon tell them apart, and settle slowly.
            few_and_wide = self.slim is not self.rows and len(self.rows.codes) <= _FEW_ROWS
            roughly = all(setting.shrinkage == 0 for setting in new) and not few_and_wide
            for setting, logits in zip(new, self.logits(new, roughly=roughly), strict=True):
                self.tried[setting] = (logits.argmax(axis=2) == self.rows.codes).mean(axis=0)

    def agreement(self, setting: Setting) -> FloatArray:
        """1 for each held-out row that gets its label, 0 for the others; the mean over the deals."""
        self.try_out([setting])
        return self.tried[setting]

    def best_mean(self) -> float:
        """The best mean agreement so far."""
        return max((float(agreed.mean()) for agreed in self.tried.values()), default=0.0)

    def is_near_best(self, setting: Setting) -> bool:
        """Whether it is not worse than the best by more than one standard error.

        The standard error is that of the difference, row by row.
        """
        agreed = self.agreement(setting)
        difference = max(self.tried.values(), key=lambda other: float(other.mean())) - agreed
        error = float(difference.std(ddof=1)) / np.sqrt(len(difference))
        # One row more than the best is one standard error, if nothing is lost in rounding.
        return float(difference.mean()) <= error * (1 + 1e-9)

    def smoothest(self) -> Setting:
        """The smoothest setting that is near the best."""
        near = [setting for setting in self.tried if self.is_near_best(setting)]
        return min(near, key=lambda setting: setting.smoothness)


@dataclass(frozen=True)
class Given:
    """What the user has chosen; None is searched."""

    n_support: int | None = None
    gamma: float | None = None
    shrinkage: float | None = None


def screen(validation: Validation, given: Given) -> float:
    """The best agreement with very few prototypes: enough to compare units of the columns."""
    around = None
    for count in SUPPORT_COUNTS[:2] if given.n_support is None else (given.n_support,):
        around = _Grid(validation.slim, given, count, around).best(validation)
    return validation.best_mean()


class _Grid:
    """Settings with so many prototypes; around some place of the grid, if one is given."""

    def __init__(
        self, rows: LabelledRows, given: Given, n_support: int, around: tuple[int, int] | None = None
    ):
        self.rows, self.given, self.n_support = rows, given, n_support
        places = [(i, j) for i in range(len(SHARPNESS)) for j in range(len(PRICES))]
        if around is not None:
            places = [(i, j) for i, j in places if abs(i - around[0]) + abs(j - around[1]) <= 1]
        if given.gamma is not None or n_support == 1:
            # With one prototype a cluster γ has no effect, but on the price.
            places = [(1, j) for j in sorted({j for _, j in places})]
        self.places = places

    def setting(self, place: tuple[int, int]) -> Setting:
        gamma = self.given.gamma
        if gamma is None:
            gamma = self.rows.gamma(self.n_support, SHARPNESS[place[0]])
        return Setting(self.n_support, gamma, PRICES[place[1]], self.given.shrinkage or 0.0)

    def best(self, validation: Validation) -> tuple[int, int]:
        """The place of best agreement; of equals the first."""
        settings = [self.setting(place) for place in self.places]
        validation.try_out(settings)
        means = [float(validation.agreement(setting).mean()) for setting in settings]
        return self.places[int(np.argmax(means))]


def search(validation: Validation, given: Given) -> Setting:
    """Find the smoothest setting.

    Prototypes are doubled until that has helped nowhere three times; γ and the price of moving are
    followed around their best values; then columns are left out as far as agreement allows.
    """
    rows = validation.slim
    sizes = np.bincount(rows.codes, minlength=rows.n_clusters)[: rows.n_clusters]
    around, idle, last = None, 0, -1.0
    for count in SUPPORT_COUNTS if given.n_support is None else (given.n_support,):
        work = float(rows.points.size) * np.minimum(sizes, count).sum()
        if count > 1 and (work > _MOST_WORK or count >= 2 * sizes.max()) and given.n_support is None:
            break
        grid = _Grid(rows, given, count, around)
        around = grid.best(validation)
        best = float(validation.agreement(grid.setting(around)).mean())
        idle = 0 if best > last else idle + 1
        last = max(best, last)
        if best == 1.0 or idle == 3:
            break
    chosen = validation.smoothest()
    return chosen if given.shrinkage is not None else _leave_columns_out(validation, chosen)


def _leave_columns_out(validation: Validation, chosen: Setting) -> Setting:
    """Raise the shrinkage while agreement stays, then take one step back.

    Beyond some level clusters lose the columns that make them; next to it a few rows decide. Where most
    prototypes are single rows nothing is known of the spread around them, and no column is left out.
    """
    counts = validation.slim.start(chosen.n_support)[1]
    if len(counts) > _MOST_PROTOTYPES * counts.sum():
        return chosen
    levels = [replace(chosen, shrinkage=level) for level in (0.0, *SHRINKAGE)]
    levels = [level for level in levels if level is levels[0] or validation.rows.stand_apart(level)]
    last = 0
    while last + 1 < len(levels):
        # Two at a time cost little more than one.
        validation.try_out(levels[last + 1 : last + 3])
        if not validation.is_near_best(levels[last + 1]):
            break
        last += 1
    return levels[max(last - 1, 0)]
