"""A forest or a tree fitted to the clusters, explained by TreeSHAP: what many do instead."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from whyclust._checks import whole_number
from whyclust.baselines.asked import Asked, Attribution, seeded
from whyclust.baselines.registry import baseline
from whyclust.baselines.shapley import import_shap


@baseline(
    "forest",
    title="random forest of the clusters",
    scores="TreeSHAP of a random forest that has learnt the clusters",
    needs="shap",
)
def forest(asked: Asked, *, n_estimators: int = 100, random_state: Any = 0) -> Attribution:
    """TreeSHAP of a random forest's probability of the cluster; it learns from the background."""
    import_shap("forest")
    model = RandomForestClassifier(
        whole_number("n_estimators", n_estimators), random_state=_seed(random_state)
    )
    return _tree_shap(asked, model, "forest")


@baseline(
    "tree",
    title="decision tree of the clusters",
    scores="the same of one decision tree",
    needs="shap",
)
def tree(asked: Asked, *, max_leaf_nodes: int | None = None, random_state: Any = 0) -> Attribution:
    """TreeSHAP of a decision tree's probability of the cluster; it learns from the background."""
    import_shap("tree")
    if max_leaf_nodes is not None:
        max_leaf_nodes = whole_number("max_leaf_nodes", max_leaf_nodes, 2)
    model = DecisionTreeClassifier(max_leaf_nodes=max_leaf_nodes, random_state=_seed(random_state))
    return _tree_shap(asked, model, "tree")


def _seed(random_state: Any) -> int:
    return int(seeded(random_state).integers(2**31))


def _tree_shap(asked: Asked, model: Any, method: str) -> Attribution:
    """Values of each row's cluster; a cluster without rows in the background has probability zero."""
    if asked.against is not None:
        raise ValueError(
            f"against= was given with method={method!r}, whose probabilities are of a cluster against all "
            "others: leave it out, or use another method."
        )
    labels = asked.predict(asked.background)
    if (labels == labels[0]).all():
        raise ValueError(
            f"All rows of the background are in one cluster, from which method={method!r} learns nothing: "
            "pass a background with rows of several clusters."
        )
    model.fit(asked.background, labels)
    shap = import_shap(method)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # shap's own, about the versions of others
        explainer = shap.TreeExplainer(model)
        found = np.asarray(explainer.shap_values(asked.points, check_additivity=False))
    expected = np.asarray(explainer.expected_value, dtype=np.float64)
    known = np.isin(asked.clusters, model.classes_)
    places = np.searchsorted(model.classes_, asked.clusters[known])
    values, base = np.zeros_like(asked.points), np.zeros(len(asked.points))
    values[known] = found[np.flatnonzero(known), :, places]
    base[known] = expected[places]
    return Attribution(values, base)
