"""Which rows are doubtful: those with little evidence beside the others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whyclust.explaining.explanation import Explanation
from whyclust.telling.rounding import count, number

# A row is doubtful whose evidence is below this part of the median of all rows.
PART = 0.1
# Where half of the rows have none, those on a border are doubtful: all numbers below this are 0 or less.
_ON_A_BORDER = float(np.finfo(np.float64).smallest_subnormal)


@dataclass(frozen=True, eq=False)
class Doubtful:
    """Doubtful rows.

    Attributes
    ----------
    below : float
        Rows with less evidence are doubtful.
    rows : ndarray of bool
        Whether each row is.
    asked : int
        How many rows there are; noise is not asked.
    """

    below: float
    rows: NDArray
    asked: int

    def describe(self) -> str:
        """Say in a sentence how many there are, and what makes them so."""
        found = int(self.rows.sum())
        if self.below == _ON_A_BORDER:
            lie = "lies on a border: its evidence" if found == 1 else "lie on a border: their evidence"
            return f"{count(found)} of {count(self.asked)} rows {lie} is 0 or less."
        rows = f"{count(found) if found else 'None'} of {count(self.asked)} rows"
        return (
            f"{rows} {'is' if found < 2 else 'are'} doubtful: evidence below {number(self.below)}, "
            "a tenth of the median of all rows."
        )


def doubtful(explanation: Explanation) -> Doubtful | None:
    """Rows whose evidence is small beside the typical one: below a tenth of the median of all rows.

    The same for all clusters: one that stands apart has no doubtful rows.

    Returns
    -------
    Doubtful or None
        None where evidence is not that of the rows' own clusters against all others.

    Examples
    --------
    >>> import whyclust as wc
    >>> from sklearn.cluster import KMeans
    >>> X = [[0.0], [0.2], [0.4], [4.6], [4.8], [5.0]]
    >>> model = KMeans(2, n_init=1, random_state=0).fit(X)
    >>> found = doubtful(wc.explain(model, [*X, [2.55]]))
    >>> found.rows.nonzero()[0]
    array([6])
    >>> found.describe()
    '1 of 7 rows is doubtful: evidence below 2.12, a tenth of the median of all rows.'
    """
    question = explanation.question
    if question.about not in ("assigned", "given") or question.duel or explanation.provenance.measures:
        return None
    evidence = np.asarray(explanation.evidence, dtype=np.float64)
    labels = np.asarray(explanation.labels)
    noise = [one for one in np.unique(labels).tolist() if explanation.is_noise(one)]
    known = ~np.isin(labels, noise)
    if not known.any():
        return None
    below = max(PART * float(np.median(evidence[known])), _ON_A_BORDER)
    return Doubtful(below, known & (evidence < below), int(known.sum()))
