"""What all selectors share: scores become ranks, and the best ranks are kept."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, _fit_context
from sklearn.feature_selection import SelectorMixin
from sklearn.utils._param_validation import Interval, RealNotInt
from sklearn.utils.validation import check_is_fitted

from whyclust._checks import counted
from whyclust.inputs.reading import finite_table


class RankingSelector(SelectorMixin, BaseEstimator):
    """A selector that scores every column and keeps the best; a method says how it scores.

    Parameters
    ----------
    n_features_to_select : int, float or None
        Columns to keep: a number of them, a share of all (above 0, at most 1), or None for half of them.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        Higher is better.
    ranking_ : ndarray of int of shape (n_features,)
        1 is the best column. Of equal scores, the first column comes first.
    n_features_ : int
        Columns that are kept.
    n_features_in_ : int
        Columns seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if the table had any.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_features_to_select": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="right"),
            None,
        ],
    }
    #: Whether the method takes sparse tables as they are.
    _sparse: ClassVar[bool] = False
    #: Larger numbers are refused: their squares, summed over columns, leave the precision of the method.
    _largest: ClassVar[float] = 1e150

    n_features_to_select: int | float | None

    # --- to be said by a method ------------------------------------------------------------------

    def _scores(self, X: Any) -> NDArray:
        """A score for each column of a checked table, higher is better."""
        raise NotImplementedError

    def _order(self) -> NDArray:
        """Columns, the best first."""
        return np.argsort(-self.scores_, kind="stable")

    def _usual_count(self) -> int:
        """Columns to keep where no number is given."""
        return max(1, self.n_features_in_ // 2)

    # --- scikit-learn's selectors ----------------------------------------------------------------

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: None = None) -> Self:
        """Score the columns, and rank them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            At least two rows of finite numbers.
        y : None
            Ignored; present for the sake of pipelines.

        Returns
        -------
        selector
            The fitted selector.
        """
        table = finite_table(
            self,
            X,
            self._largest,
            dtype=[np.float64, np.float32],
            accept_sparse="csr" if self._sparse else False,
            ensure_min_samples=2,
        )
        self._refuse_too_many(table.shape[1])
        self.scores_ = np.asarray(self._scores(table), dtype=np.float64)
        self.ranking_ = np.empty(len(self.scores_), dtype=np.intp)
        self.ranking_[self._order()] = np.arange(1, len(self.scores_) + 1)
        self.n_features_ = self._count(len(self.scores_))
        return self

    def _refuse_too_many(self, n_features: int) -> None:
        wanted = self.n_features_to_select
        if isinstance(wanted, Integral) and int(wanted) > n_features:
            raise ValueError(
                f"n_features_to_select={wanted}, but X has {counted(n_features, 'column')}: choose at most "
                f"{n_features}, a share such as 0.5, or None."
            )

    def _count(self, n_features: int) -> int:
        wanted = self.n_features_to_select
        if wanted is None:
            return self._usual_count()
        if isinstance(wanted, Integral):
            return int(wanted)
        # 0.29 · 100 is a little less than 29 in floating point.
        return max(1, int(n_features * wanted + 1e-9))

    def _get_support_mask(self) -> NDArray:
        check_is_fitted(self, "ranking_")
        return self.ranking_ <= self.n_features_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._sparse
        return tags
