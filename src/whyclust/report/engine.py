"""What the report's page needs to explain other rows, and rows that a reader changes, by itself.

The page computes what depends on a reader's choice: a row with other values, another cluster or competitor,
the smallest change with columns held fixed. It gets the folded head that Python computes with, as arrays, and
how columns are encoded; ``frontend/src/engine`` does the same arithmetic, and tests hold the two against each
other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from whyclust._frames import column_values
from whyclust.answers._changeable import Asked, Changeable
from whyclust.answers._regions import NodeRegions, regions_of
from whyclust.inputs.kind import TABLE
from whyclust.inputs.reading import is_sparse
from whyclust.network.competition import Competition
from whyclust.network.network import Neuralized
from whyclust.network.pools import MinPool, SoftMinPool
from whyclust.network.quadratic import Quadratics
from whyclust.report.data.rows import numbers_of
from whyclust.report.engine_encoding import NotInThePage, cell, written_encoding

if TYPE_CHECKING:
    from whyclust.explaining.explanation import Explanation
    from whyclust.explaining.origin import Origin

Arrays = dict[str, NDArray]

# Prototypes × encoded columns, or numbers in the precision matrices of a mixture: above this the page would
# grow by megabytes, and would be slow to answer.
MOST_NUMBERS = 200_000
# Pairs of sub-clusters × columns that the search for a smallest change may compare.
_MOST_COMPARED = 20_000_000


def engine_spec(explanation: Explanation, order: Sequence[Any] = ()) -> tuple[dict[str, Any], Arrays]:
    """What the page's engine computes with.

    Parameters
    ----------
    explanation : Explanation
        Of all rows: ranges of columns, beyond which nothing changes, are taken from them.
    order : sequence of cluster ids, optional
        In which the page counts clusters; those that it does not name follow. By default the network's own.

    Returns
    -------
    spec : dict
        For JSON. ``{"why_not": sentence}`` where the page cannot compute this model. Otherwise
        ``why_no_change`` is a sentence where it can explain, but not find the smallest change.
    arrays : dict of str to ndarray
        Of type float64, under the names that the engine asks for, in C order.

    Examples
    --------
    >>> import whyclust as wc
    >>> from sklearn.cluster import KMeans
    >>> X = [[0.0, 0.0], [0.0, 1.0], [4.0, 0.0], [4.0, 1.0]]
    >>> spec, arrays = engine_spec(wc.explain(KMeans(2, n_init=1, random_state=0).fit(X), X))
    >>> spec["head"]["kind"], spec["clusters"], arrays["slopes"].shape
    ('prototypes', [0, 1], (2, 2))
    """
    try:
        origin = _origin(explanation)
        net = origin.network
        _refuse_size(net)
        encoded, arrays = written_encoding(net.features)
        head = _head(net, arrays)
        spec: dict[str, Any] = {
            **_order(net, order),
            "columns": net.features.n_columns,
            "encoded": encoded,
            "beta": float(net.beta),
            "rule": explanation.rule,
            "pool": _pool(net),
            "head": head,
            **_numbers(explanation),
        }
    except NotInThePage as error:
        sentence = str(error)
        return {"why_not": sentence[0].upper() + sentence[1:]}, {}
    try:
        spec["change"] = _change(origin, arrays, spec["whole"])
    except NotInThePage as error:
        sentence = str(error)
        spec["why_no_change"] = sentence[0].upper() + sentence[1:]
    return spec, {name: np.ascontiguousarray(array, dtype=np.float64) for name, array in arrays.items()}


def _origin(explanation: Explanation) -> Origin:
    """The network and the rows, where the page can answer about them."""
    origin, question = explanation.origin, explanation.question
    if origin is None:
        raise NotInThePage("the explanation was loaded from a file, which does not keep the model.")
    if explanation.provenance.method != "neon":
        raise NotInThePage(f"the page does not know the method {explanation.provenance.method!r}.")
    if question.duel or question.about not in ("assigned", "given"):
        raise NotInThePage(f"the explanation answers another question, {question}.")
    if origin.options.get("groups") is not None:
        raise NotInThePage("columns are summed in groups, and the page would have to change single ones.")
    if explanation.kind != TABLE or origin.network.kind != TABLE:
        raise NotInThePage("its rows are texts, images or the like, which the page does not change.")
    if is_sparse(origin.table.data):
        raise NotInThePage("the table is sparse, and has too many columns for a page.")
    features = origin.network.features
    if features.trunk is not None:
        raise NotInThePage("the model is a deep network, which a page cannot hold.")
    if features.norm is not None:
        raise NotInThePage("every row is divided by its length first, which the page does not do.")
    return origin


def _refuse_size(net: Neuralized) -> None:
    """Before anything is folded, which would take the memory that the page has not."""
    found = [getattr(net.head, name, ()) for name in ("prototypes", "weights", "means")]
    numbers = max(len(rows) for rows in found) * net.features.n_points
    roots: Any = getattr(net.head, "roots", None)
    if roots is not None and (roots.ndim == 3 or not net.features.folded.is_identity):
        numbers *= net.head.n_inputs
    if numbers > MOST_NUMBERS:
        raise NotInThePage(
            f"the model has {numbers:,} numbers, and a page computes with at most {MOST_NUMBERS:,}."
        )


def _order(net: Neuralized, order: Sequence[Any]) -> dict[str, Any]:
    """Clusters as the page counts them, and the place of each among the network's; −1 for one it has not."""
    known = net.clusters.tolist()
    clusters = [*order, *(one for one in known if one not in order)]
    return {"clusters": clusters, "places": [known.index(one) if one in known else -1 for one in clusters]}


def _numbers(explanation: Explanation) -> dict[str, Any]:
    """Lowest and highest values of columns of numbers, of all rows, and which hold whole numbers only."""
    ranges: dict[str, list[float]] = {}
    whole = []
    for column in range(explanation.shape[1]):
        values = numbers_of(column_values(explanation.data, column))
        values = np.empty(0) if values is None else values[np.isfinite(values)]
        if len(values):
            ranges[str(column)] = [float(values.min()), float(values.max())]
            whole += [column] if (values == np.round(values)).all() else []
    return {"ranges": ranges, "whole": whole}


def _pool(net: Neuralized) -> dict[str, Any]:
    pool: Any = net.pool
    if isinstance(pool, MinPool):
        return {"kind": "min"}
    if isinstance(pool, SoftMinPool):
        return {"kind": "soft_min", "threshold": float(pool.threshold), "stiffness": float(pool.stiffness)}
    raise NotInThePage(f"the page does not know the decision {pool.name!r}.")


def _head(net: Neuralized, arrays: Arrays) -> dict[str, Any]:
    """The head as it is folded into the space of the encoded columns, its arrays among the others."""
    folded: Any = net.folded(np.dtype(np.float64))
    if isinstance(folded, Quadratics):
        for name in ("maps", "shifts", "constants", "positions", "center"):
            arrays[name] = getattr(folded, name)
        return {"kind": "quadratics", "diagonal": folded.maps.ndim == 2}
    if not isinstance(folded, Competition):
        raise NotInThePage("clusters are compared along a tree, which the page does not do.")
    for name in ("slopes", "constants", "positions", "bases", "center"):
        arrays[name] = getattr(folded.nodes, name)
    root: Any = None
    if folded.background is not None:
        arrays["background"] = folded.background
        root = _diagonal(folded.metric)
    if folded.noise is not None:
        root = folded.noise.root  # the same map
    if root is not None:
        arrays["root"] = root
    head: dict[str, Any] = {
        "kind": "prototypes",
        "symmetric": folded.nodes.symmetric,
        "noise": folded.noise is not None,
        "background": folded.background is not None,
        "mixes": root is not None and root.ndim == 2,
    }
    if folded.starts is not None:
        arrays["starts"] = folded.starts
        head["gamma"] = float(folded.gamma) if np.isfinite(folded.gamma) else None
    return head


def _diagonal(metric: Any) -> NDArray:
    """What gives the same squared lengths: a number for each column, where every output reads one."""
    if not is_sparse(metric):
        return np.asarray(metric)
    return np.sqrt(np.asarray(metric.multiply(metric).sum(axis=0)).ravel())


def _change(origin: Origin, arrays: Arrays, whole: list[int]) -> dict[str, Any]:
    """What finds the smallest change: how columns move, how far they may, and what a unit of them counts."""
    net, table = origin.network, origin.network.match(origin.table)
    regions = regions_of(net)
    if not isinstance(regions, NodeRegions):
        raise NotInThePage(
            "borders between its clusters are bent, and the page finds nearest points of straight ones only."
        )
    several = len(regions.members) > len(net.clusters)
    if several and len(regions.members) ** 2 * regions.slopes.shape[1] > _MOST_COMPARED:
        raise NotInThePage("its clusters consist of too many parts to search all of them in a page.")
    row = Changeable(net, table, 0, Asked())
    try:
        kinds = row.kinds
    except ValueError:
        raise NotInThePage("a single row has no deviation to measure a change by.") from None
    arrays["scale"] = row.scale
    folded: Any = net.folded(np.dtype(np.float64))
    if isinstance(folded, Quadratics):  # equal precisions: their squares cancel
        arrays["change-slopes"] = regions.slopes
        arrays["change-constants"] = regions.constants - regions.slopes @ folded.center
    bent: dict[str, Any] = {}
    for position, low, high in zip(row.movable, *row.box, strict=True):
        column = int(net.features.sources[position])
        if kinds[column] == "bent":
            lowest, highest = row.ranges[column]
            bent[str(column)] = {"lowest": lowest, "highest": highest, "low": float(low), "high": float(high)}
    return {
        # False and True are no numbers that move, but two values to try, as categories are.
        "numbers": [c for c, kind in kinds.items() if kind == "number" and c not in row.flags],
        "bent": bent,
        "choices": _choices(row, whole),
        "never_negative": sorted(row.never_negative),
        "measured": row.measured,
    }


def _choices(row: Changeable, whole: list[int]) -> dict[str, list[Any]]:
    """Values of categories and flags that are tried one by one, in the order in which Python tries them."""
    asked = Changeable(row.net, row.table, row.position, Asked(whole=frozenset(whole)))
    found: dict[str, list[Any]] = {}
    for column, kind in row.kinds.items():
        if column in row.flags:
            found[str(column)] = [False, True]
        elif kind == "choice":
            found[str(column)] = [cell(value) for value in asked.tried(column)[0]]
    return found
