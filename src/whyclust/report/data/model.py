"""What a deep model itself shows of its clusters: decoded centres, ways through its embedding, gates."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from whyclust.network.models import last_step
from whyclust.plots.undoing import refuse_one_way, undone, usual

if TYPE_CHECKING:
    from whyclust.explaining.explanation import Explanation
    from whyclust.report.sections import Page

# Rows on a way, columns of a table that are told of each, and members of a cluster whose gates are averaged.
STEPS, COLUMNS, GATED = 7, 8, 500
# Gates below this are shut for nearly all rows of a cluster.
SHUT = 0.01


def add_shown_by_model(page: Page, told: list[dict[str, Any]]) -> None:
    """Add to each cluster, under ``model``, what the model shows of it besides relevance.

    Nothing is added where the model shows nothing: it has no decoder, two spaces or gates, or the
    explanation was loaded from a file and does not know it.
    """
    explanation = page.explanation
    origin = explanation.origin
    model = None if origin is None else origin.options.get("model")
    if origin is None or model is None or explanation.question.about not in ("assigned", "given"):
        return
    clusters = [one.cluster for one in explanation.summary()]
    shown: list[dict[str, Any]] = [{} for _ in clusters]
    _add_decoded(explanation, model, clusters, shown)
    _add_spaces(page, clusters, shown)
    _add_gates(explanation, clusters, shown)
    for one, found in zip(told, shown, strict=True):
        if found:
            one["model"] = found


class _Rows:
    """Rows that the model makes up, in the user's columns and on the scale of the user's rows."""

    def __init__(self, explanation: Explanation, model: Any) -> None:
        self.explanation, self.model = explanation, model
        data = np.asarray(explanation.data, dtype=float).reshape(len(explanation), -1)
        self.low, self.high = float(np.nanmin(data)), float(np.nanmax(data))
        self.deviations = usual(model)[1]
        self.pictured = bool(explanation.kind.item_shape)

    def __call__(self, rows: NDArray) -> NDArray:
        found = undone(self.model, rows)
        if found.shape[1] != self.explanation.shape[1]:
            raise ValueError("columns of the model are not those of the table")
        return found

    def picture(self, row: NDArray, caption: str) -> str | None:
        return self.explanation.kind.picture(row, self.low, self.high, caption)

    def way(self, rows: NDArray, told: str) -> dict[str, Any]:
        """Rows along a way: pictures, or the columns that change most for how much they vary."""
        if self.pictured:
            shown = [
                self.picture(row, f"{told}, step {place} of {len(rows)}")
                for place, row in enumerate(rows, start=1)
            ]
            return {"told": told, "pictures": shown}
        moved = np.ptp(rows, axis=0) / self.deviations
        order = np.argsort(-moved, kind="stable")[:COLUMNS]
        columns = [
            {"name": self.explanation.feature_names[column], "values": rows[:, column].tolist()}
            for column in order
            if moved[column] > 0
        ]
        return {"told": told, "columns": columns}


def _add_decoded(
    explanation: Explanation, model: Any, clusters: list[Any], shown: list[dict[str, Any]]
) -> None:
    """The row that each centre stands for, and the ways from it to where its rows would go next."""
    deep = last_step(model)
    groups = explanation.origin is not None and explanation.origin.options.get("groups") is not None
    try:
        refuse_one_way(model)
        made = _Rows(explanation, model)
        centers = made(deep.decoded_centers())
    except (TypeError, ValueError, NotImplementedError):  # a step that cannot be undone, or categories
        return
    if groups:
        return
    for cluster, found, summary in zip(clusters, shown, explanation.summary(), strict=True):
        name = explanation.named(cluster)
        if made.pictured:
            found["decoded"] = {"picture": made.picture(centers[cluster], f"decoded centre of {name}")}
        else:
            strongest = summary.features["feature"].head(COLUMNS).tolist()
            places = [explanation.feature_names.index(column) for column in strongest]
            members = np.asarray(explanation.labels == cluster)
            data = np.asarray(explanation.data, dtype=float)[members]
            found["decoded"] = {
                "columns": [
                    {
                        "name": explanation.feature_names[place],
                        "decoded": centers[cluster, place],
                        "mean": float(np.nanmean(data[:, place])),
                    }
                    for place in places
                ]
            }
        found["ways"] = _ways(explanation, deep, made, clusters, cluster)


def _ways(
    explanation: Explanation, deep: Any, made: _Rows, clusters: list[Any], cluster: Any
) -> list[dict[str, Any]]:
    """Towards the cluster that most of its rows are next to; of ACe/DeC also where its rows may differ."""
    found = []
    members = np.asarray(explanation.labels == cluster)
    rivals, counts = np.unique(np.asarray(explanation.competitors)[members], return_counts=True)
    order = [rival for rival in rivals[np.argsort(-counts, kind="stable")].tolist() if rival in clusters]
    if order and order[0] != cluster:
        rows = made(deep.interpolate(cluster, order[0], steps=STEPS))
        found.append(made.way(rows, f"From its centre to that of {explanation.named(order[0])}"))
    if hasattr(type(deep), "shared_dims_") and len(deep.shared_dims_):
        rows = made(deep.traverse("shared", cluster=cluster, steps=STEPS))
        found.append(
            made.way(rows, "What may differ within it: along the first direction of the shared space")
        )
    return found


def _add_spaces(page: Page, clusters: list[Any], shown: list[dict[str, Any]]) -> None:
    """What clusters of ACe/DeC use, and what they ignore."""
    told = page.spaces or {}
    for one in told.get("clusters", []):
        apart = not told["collapsed"]
        shown[clusters.index(one["cluster"])]["spaces"] = {
            "doubt": told["doubt"],
            "collapsed": told["collapsed"],
            "uses": one["uses"] if apart else [],
            "ignores": one["ignores"] if apart else [],
            "used_picture": _shown(one["used_picture"]) if apart else None,
            "picture": _shown(one["picture"]) if apart else None,
        }


def _shown(picture: dict[str, Any] | None) -> str | None:
    return None if picture is None else str(picture["shown"])


def _add_gates(explanation: Explanation, clusters: list[Any], shown: list[dict[str, Any]]) -> None:
    """Which columns the gates of IDC let through, for rows of each cluster."""
    if explanation.origin is None or getattr(explanation.origin.network.features.trunk, "gate", None) is None:
        return
    from whyclust.explaining.of_gates import gates_of  # PyTorch is imported on use

    draw = np.random.default_rng(0)
    for cluster, found in zip(clusters, shown, strict=True):
        members = draw.permutation(np.flatnonzero(np.asarray(explanation.labels == cluster)))[:GATED]
        if not len(members):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            gates = np.asarray(gates_of(explanation[np.sort(members)]).values, dtype=float)
        means = gates.mean(axis=0)
        order = [column for column in np.argsort(-means, kind="stable")[:COLUMNS] if means[column] > SHUT]
        caption = f"gates of {explanation.named(cluster)}: white lets a pixel through"
        found["gates"] = {
            "open": float((gates > 0).sum(axis=1).mean()),
            "columns": [
                {"name": explanation.feature_names[column], "gate": float(means[column])} for column in order
            ],
            "picture": explanation.kind.picture(means, 0.0, 1.0, caption),
        }
