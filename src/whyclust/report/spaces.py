"""The two spaces of ACe/DeC as plain values for the page: what clusters use, and what they ignore."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from whyclust.network.models import last_step

if TYPE_CHECKING:
    from whyclust.explaining.explanation import Explanation

MOST_CLUSTERS = 8
TOP_COLUMNS = 5


def spaces(explanation: Explanation) -> dict[str, Any] | None:
    """Gather what the section 'What the clusters use, and what they ignore' shows.

    Parameters
    ----------
    explanation : Explanation

    Returns
    -------
    dict or None
        None where no ACe/DeC was explained, or the explanation was loaded or put together from parts: then
        it does not know the clustering that it came from.
    """
    origin = explanation.origin
    clustering: Any = None if origin is None else last_step(origin.options.get("model"))
    if not hasattr(type(clustering), "shared_dims_"):
        return None
    from whyclust.explaining.ignored import ignored, share_of_shared

    rest = ignored(explanation)
    weights = clustering.cluster_weights_
    ids, counts = np.unique(explanation.assigned, return_counts=True)
    largest = ids[np.argsort(-counts, kind="stable")[:MOST_CLUSTERS]]
    # Relevance for a cluster that was asked for says nothing about what rows' own clusters use.
    own = explanation.question.about == "assigned"
    return {
        "n_cluster": len(clustering.cluster_dims_),
        "n_shared": len(clustering.shared_dims_),
        # Where there is nothing to be told apart, lists would be of the same columns on both sides.
        "collapsed": clustering.collapsed_spaces is not None,
        "doubt": rest.provenance.doubt,
        "share": share_of_shared(explanation),
        "weights": [
            {
                "name": int(dim),
                "weight": weights[dim],
                "width": round(100 * float(weights[dim]), 1),
                "negative": bool(dim in clustering.shared_dims_),  # the colour of its bar
            }
            for dim in np.argsort(-weights, kind="stable")
        ],
        "clusters": [_cluster(explanation, rest, one, own) for one in explanation.in_order(largest)],
        "n_left_out": len(ids) - len(largest),
        "own": own,
    }


def _cluster(explanation: Explanation, rest: Explanation, cluster: Any, own: bool) -> dict[str, Any]:
    members = np.flatnonzero(explanation.assigned == cluster)
    return {
        "cluster": cluster,
        "id": explanation.short_name(cluster),
        "uses": _largest(explanation, members) if own else [],
        "ignores": _largest(rest, members),
        "used_picture": _picture(explanation, cluster, members, "uses") if own else None,
        "picture": _picture(rest, cluster, members, "ignores"),
    }


def _picture(explanation: Explanation, cluster: Any, members: NDArray, does: str) -> dict[str, Any] | None:
    """The mean image, and the mean absolute relevance of its pixels; None where rows are no images."""
    name = explanation.named(cluster)
    sizes = np.abs(np.asarray(explanation.values))
    shown = explanation.kind.show(explanation.data, sizes, members, f"what {name} {does}")
    return None if shown is None else {"caption": name, "shown": Markup(shown)}


def _largest(explanation: Explanation, members: NDArray) -> list[dict[str, Any]]:
    """Columns of the largest mean relevance, each with its part of the sum over all columns.

    As in the summary of a cluster, so that the page has one number for one column.
    """
    means = np.asarray(explanation.values)[members].mean(axis=0)
    sizes = np.abs(means)
    shares = sizes / (sizes.sum() or 1.0)
    order = np.argsort(-sizes, kind="stable")[:TOP_COLUMNS]
    return [
        {
            "name": explanation.feature_names[column],
            "share": float(shares[column]),
            "negative": bool(means[column] < 0),  # the colour of its bar
        }
        for column in order
        if sizes[column] > 0
    ]
