"""Every step that may stand before a clustering, sparse tables among them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
from sklearn.cluster import BisectingKMeans, KMeans
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, IncrementalPCA, TruncatedSVD
from sklearn.feature_selection import SelectKBest, VarianceThreshold, f_classif
from sklearn.impute import SimpleImputer
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

import whyclust as wc
from recording_parts.cases import CLOSED, Numbers, add, case, explained
from recording_parts.data import counts, mixed, numbers_missing, wine, wine_classes
from whyclust.cluster import KernelKMeans, SoftKMeans


def clusterer() -> KMeans:
    return KMeans(3, n_init=2, random_state=0)


def behind(steps: Callable[[], list[Any]], table: Callable[[], Any]) -> Numbers:
    """k-means behind steps, by the usual rule, asked for one cluster, and as a network."""
    X = table()
    model = make_pipeline(*steps(), clusterer()).fit(X, wine_classes() if len(X) == 178 else None)
    net = wc.neuralize(model, X)
    found = explained(wc.explain(model, X)) | explained(wc.explain(model, X, cluster=1, against=0), "duel/")
    return found | {"predict": net.predict(X), "beta without data": wc.neuralize(model).beta}


def texts() -> Any:
    return mixed()[["colour", "city"]]


def usual_columns() -> ColumnTransformer:
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    return ColumnTransformer(
        [
            ("numbers", numbers, ["age", "income"]),
            ("texts", OneHotEncoder(), ["colour", "city"]),
            ("as it is", "passthrough", ["visits"]),
        ]
    )


STEPS: dict[str, tuple[Callable[[], list[Any]], Callable[[], Any]]] = {
    "standard scaler": (lambda: [StandardScaler()], wine),
    "standard scaler without mean": (lambda: [StandardScaler(with_mean=False)], wine),
    "min-max scaler": (lambda: [MinMaxScaler((-1, 1))], wine),
    "min-max scaler that clips": (lambda: [MinMaxScaler(clip=True)], wine),
    "largest absolute value": (lambda: [MaxAbsScaler()], wine),
    "robust scaler": (lambda: [RobustScaler()], wine),
    "normalizer l1": (lambda: [Normalizer("l1")], wine),
    "normalizer l2": (lambda: [StandardScaler(), Normalizer("l2")], wine),
    "normalizer max": (lambda: [Normalizer("max"), StandardScaler()], wine),
    "pca": (lambda: [StandardScaler(), PCA(5, random_state=0)], wine),
    "pca that whitens": (lambda: [StandardScaler(), PCA(4, whiten=True, random_state=0)], wine),
    "pca in parts": (lambda: [StandardScaler(), IncrementalPCA(4, batch_size=60)], wine),
    "truncated svd": (lambda: [StandardScaler(), TruncatedSVD(4, random_state=0)], wine),
    "normalizer and pca": (lambda: [StandardScaler(), Normalizer(), PCA(4, random_state=0)], wine),
    "scaler around pca": (lambda: [RobustScaler(), PCA(6, random_state=0), StandardScaler()], wine),
    "imputer": (lambda: [SimpleImputer(), StandardScaler()], numbers_missing),
    "imputer with indicator": (
        lambda: [SimpleImputer(strategy="median", add_indicator=True), StandardScaler()],
        numbers_missing,
    ),
    "one-hot": (lambda: [OneHotEncoder()], texts),
    "one-hot that drops": (lambda: [OneHotEncoder(drop="first", min_frequency=3)], texts),
    "ordinal": (lambda: [OrdinalEncoder(), StandardScaler()], texts),
    "bins, one-hot": (lambda: [KBinsDiscretizer(3, encode="onehot-dense", strategy="uniform")], wine),
    "bins, ordinal": (lambda: [KBinsDiscretizer(4, encode="ordinal", strategy="uniform")], wine),
    "power": (lambda: [PowerTransformer()], wine),
    "quantiles": (lambda: [QuantileTransformer(n_quantiles=20, random_state=0)], wine),
    "binarizer": (lambda: [StandardScaler(), Binarizer(threshold=0.2)], wine),
    "function": (lambda: [FunctionTransformer(np.log1p), StandardScaler()], wine),
    "variance threshold": (lambda: [VarianceThreshold(0.1), StandardScaler()], wine),
    "k best": (lambda: [SelectKBest(f_classif, k=5), StandardScaler()], wine),
    "columns": (lambda: [usual_columns()], mixed),
    "columns and pca": (lambda: [usual_columns(), PCA(3, random_state=0)], mixed),
    "nested": (lambda: [make_pipeline(StandardScaler(), PCA(5, random_state=0)), MinMaxScaler()], wine),
}
for name, (steps, table) in STEPS.items():
    add(f"pipelines: {name}", CLOSED, behind, steps, table)


def sparse(steps: Callable[[], list[Any]]) -> Numbers:
    X = counts()
    model = make_pipeline(*steps(), clusterer()).fit(X)
    ex = wc.explain(model, X)
    columns, values = ex.top(4)
    grouped = wc.explain(model, X, groups={"some": [0, 3, 7]})
    return {
        **explained(ex),
        **explained(grouped, "grouped/"),
        "row": np.asarray(ex.values[3]),
        "top columns": columns,
        "top values": values,
    }


add("pipelines: sparse", CLOSED, sparse, list)
add("pipelines: sparse, scaled", CLOSED, sparse, lambda: [StandardScaler(with_mean=False)])
add("pipelines: sparse, normalized", CLOSED, sparse, lambda: [Normalizer()])
add(
    "pipelines: sparse, svd and normalizer",
    CLOSED,
    sparse,
    lambda: [TruncatedSVD(5, random_state=0), Normalizer()],
)

BEHIND_PCA = {
    "bisecting k-means": partial(BisectingKMeans, 4, random_state=0),
    "soft k-means": partial(SoftKMeans, 3, n_init=2, random_state=0),
    "kernel k-means": partial(KernelKMeans, 3, n_support=3, n_init=1, max_iter=20, random_state=0),
    "mixture": partial(GaussianMixture, 3, random_state=0),
}


@cache
def behind_pca_model(name: str) -> Any:
    return make_pipeline(StandardScaler(), PCA(4, random_state=0), BEHIND_PCA[name]()).fit(wine())


def behind_pca(name: str) -> Numbers:
    model = behind_pca_model(name)
    found = explained(wc.explain(model, wine())) | {"beta without data": wc.neuralize(model).beta}
    return found | explained(wc.explain(model, wine(), rule="min_take_most"), "paper/")


for name in BEHIND_PCA:
    add(f"pipelines: pca and {name}", CLOSED, behind_pca, name)


@case("pipelines: polars and nullable frames", CLOSED)
def _frames() -> Numbers:
    import polars as pl

    model = make_pipeline(StandardScaler(), clusterer()).fit(wine())
    polars = pl.DataFrame({name: wine()[name].to_numpy() for name in wine().columns})
    found = explained(wc.explain(model, polars), "polars/")
    return found | explained(wc.explain(model, wine().convert_dtypes()), "nullable/")


@case("pipelines: absolute decision behind a scaler", CLOSED)
def _absolute() -> Numbers:
    model = make_pipeline(StandardScaler(), SoftKMeans(3, n_init=2, random_state=0)).fit(wine())
    return explained(wc.explain(model, wine(), threshold=0.8))
