"""What an explanation answers, and what it was computed from: small records that sentences are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from whyclust.network.spaces import SpacesApart
from whyclust.saving.registry import saved


@saved(alone=False)
@dataclass(frozen=True)
class Question:
    """The question that an explanation answers.

    Attributes
    ----------
    about : {"assigned", "given", "chosen", "ignored"}
        The cluster each row is in, the label given for it, a cluster that the user named, or what the
        clustering ignores.
    cluster : cluster id or None
        The one that was named for all rows; None where each row has its own.
    duel : bool
        Whether against one competitor, not all.
    against : cluster id or None
        The competitor that was named for all rows.
    threshold : float or None
        The probability that the cluster's was compared with, in absolute decisions.
    """

    about: Literal["assigned", "given", "chosen", "ignored"] = "assigned"
    cluster: Any = None
    duel: bool = False
    against: Any = None
    threshold: float | None = None

    @classmethod
    def of(cls, cluster: Any, against: Any, *, given: bool, threshold: float | None) -> Question:
        """The question of a call of ``explain``."""
        duel = against is not None
        about: Literal["assigned", "given", "chosen"] = "given" if given else "assigned"
        return cls(
            about if cluster is None and not duel else "chosen",
            _one(cluster),
            duel,
            _one(against),
            None if duel else threshold,
        )

    @property
    def unanswered(self) -> str:
        """Why nothing more can be asked, where an explanation has no network."""
        if self.about == "ignored":
            return (
                "This explanation tells what the clustering ignores, where clusters are not compared, so it "
                "cannot be asked about them: explain what the clustering uses, wc.explain(model, X)."
            )
        return (
            "This explanation was loaded or put together, so its network is not there to be asked: explain "
            "the rows again, with wc.load of the network that was saved."
        )

    def __str__(self) -> str:
        """In words.

        >>> str(Question()), str(Question("chosen", 3, True, 1)), str(Question(threshold=0.9))
        ('the assigned cluster against all others', 'cluster 3 against cluster 1', 'whether the probability
        of the assigned cluster exceeds 0.9')
        """
        if self.about == "ignored":
            return "what the clustering ignores"
        usual = {"assigned": "the assigned cluster", "given": "the given label"}
        own = usual.get(self.about) or f"cluster {_named(self.cluster)}"
        if self.threshold is not None:
            return f"whether the probability of {own} exceeds {self.threshold:g}"
        return f"{own} against {f'cluster {_named(self.against)}' if self.duel else 'all others'}"


def _one(ids: Any) -> Any:
    """One id for all rows; None for none, or for one each."""
    if ids is None or np.ndim(ids) != 0:
        return None
    return ids.item() if isinstance(ids, (np.generic, np.ndarray)) else ids


def _named(cluster: Any) -> str:
    return "the one given for each row" if cluster is None else str(cluster)


@saved(alone=False)
@dataclass(frozen=True)
class Provenance:
    """What an explanation was computed by.

    Attributes
    ----------
    method : str
        ``"neon"``, or the baseline.
    model : str
        The class of the clustering.
    labels : str or None
        Where labels came from that a surrogate was fitted to.
    head, pool : str
        Parts of the network.
    n_clusters : int
        Clusters, without noise.
    noise : label or None
        What rows in no cluster are called.
    propagation : str or None
        How relevance passed the layers of an encoder.
    measures : str or None
        What values are, in words, where they are no reason for a cluster: gates, say.
    spaces : SpacesApart or None
        How far the spaces of ACe/DeC are apart, where values tell what is ignored.
    """

    method: str = "neon"
    model: str = ""
    labels: str | None = None
    head: str = ""
    pool: str = ""
    n_clusters: int = 0
    noise: Any = None
    propagation: str | None = None
    measures: str | None = None
    spaces: SpacesApart | None = None

    @property
    def of_clusters(self) -> bool:
        """Whether each line of values stands for a whole cluster, and not for a row."""
        return self.method == "global gates"

    @property
    def doubt(self) -> str | None:
        """What must be known before columns that are ignored are believed, in a sentence."""
        return None if self.spaces is None else self.spaces.doubt
