"""Relevance in the user's own columns, through every step that stands before a clustering.

The yardstick is closed form 3 of the design, written out for one point and one competitor at a
time: R_x = Σ_k α_k (x − (μˣ_c + μˣ_k)/2) ⊙ 2(v_c − v_k), v = Aᵀμ, with the weights α of
``paper.py``. The map of a step is not read from its attributes: it is measured, by sending the
origin and the unit vectors through the fitted transformer.
"""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.cluster import AgglomerativeClustering, BisectingKMeans, KMeans
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.decomposition import PCA, IncrementalPCA, TruncatedSVD
from sklearn.feature_selection import SelectKBest, VarianceThreshold, f_classif
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

import paper
import whyclust as wc
from whyclust.cluster import KernelKMeans, SoftKMeans

BOUND = 1e-10


def blobs(n_points=80, n_features=5, seed=0):
    generator = np.random.default_rng(seed)
    middles = generator.normal(scale=2.0, size=(4, n_features))
    group = generator.integers(4, size=n_points)
    return middles[group] + 0.5 * generator.normal(size=(n_points, n_features))


X = blobs()
SCALES = np.array([1.0, 100.0, 0.01, 5.0, 1.0])
UNEVEN = X * SCALES + np.array([0.0, 50.0, -1.0, 3.0, 7.0])


def k_means(k=4):
    return KMeans(k, n_init=2, random_state=0)


def largest(array):
    return np.abs(np.asarray(array, dtype=float)).max()


def assert_conserves(found):
    size = max(1.0, largest(found.explained))
    assert largest(found.values.sum(axis=1) + found.base_values - found.explained) < BOUND * size
    assert np.isfinite(found.values).all()


def decided(net, model, table, margin=1e-9):
    """Every assignment whose margin exceeds rounding is the model's own."""
    sure = net.evidence(table) > margin
    assert sure.mean() > 0.9
    np.testing.assert_array_equal(net.predict(table)[sure], model.predict(table)[sure])


def measured_map(steps, origin):
    """A and b of a = A (x − origin) + b, by sending points through the fitted steps."""
    at_origin = np.asarray(steps.transform(origin[None]), dtype=float)[0]
    scale = 1e3  # large steps: differences of images keep their digits
    images = np.asarray(steps.transform(origin + scale * np.eye(len(origin))), dtype=float)
    return (images - at_origin).T / scale, at_origin


def literal_relevance(x, matrix, origin, at_origin, centers, beta, around):
    """Closed form 3 for one point in its own cluster, one competitor after the other."""
    inverse = np.linalg.pinv(matrix)
    around_image = matrix @ (around - origin) + at_origin
    preimages = [around + inverse @ (center - around_image) for center in centers]
    duals = [matrix.T @ center for center in centers]
    image = matrix @ (x - origin) + at_origin
    c = int(np.argmin([paper.squared_distance(image, center) for center in centers]))
    others = paper.competitors_of(len(centers), c)
    h = [
        paper.squared_distance(image, centers[k]) - paper.squared_distance(image, centers[c]) for k in others
    ]
    values = np.zeros(len(x))
    for k, weight in zip(others, paper.expected_weights(h, beta, True), strict=True):
        values += weight * (x - (preimages[c] + preimages[k]) / 2.0) * 2.0 * (duals[c] - duals[k])
    return values, paper.hard_evidence(h)


AFFINE = {
    "standard": StandardScaler(),
    "standard, no mean": StandardScaler(with_mean=False),
    "standard, no std": StandardScaler(with_std=False),
    "standard, neither": StandardScaler(with_mean=False, with_std=False),
    "min-max": MinMaxScaler(feature_range=(-1.0, 3.0)),
    "max-abs": MaxAbsScaler(),
    "robust": RobustScaler(),
    "robust, no centre": RobustScaler(with_centering=False),
    "robust, no scale": RobustScaler(with_scaling=False),
    "function without effect": FunctionTransformer(),
    "variance threshold": VarianceThreshold(1e-3),
    "pca, all": PCA(),
    "pca": PCA(2),
    "pca, whitened": PCA(3, whiten=True),
    "incremental pca": IncrementalPCA(2, whiten=True),
    "svd": TruncatedSVD(3, random_state=0),
    "scaler, pca": make_pipeline(StandardScaler(), PCA(2)),
    "pca, scaler": make_pipeline(PCA(3), StandardScaler()),
    "scaler, svd, min-max": make_pipeline(StandardScaler(), TruncatedSVD(2, random_state=0), MinMaxScaler()),
    "scaler, selector, pca": make_pipeline(StandardScaler(), VarianceThreshold(0.5), PCA(2)),
    "nested": make_pipeline("passthrough", make_pipeline(StandardScaler(), make_pipeline(PCA(2)))),
    "column transformer": make_column_transformer(
        (StandardScaler(), [0, 3]), (PCA(2), [1, 2, 4]), remainder="drop"
    ),
    "column twice": make_column_transformer((StandardScaler(), [0, 1]), (MinMaxScaler(), [1, 2])),
    "column twice, mixed": make_column_transformer(
        (PCA(1), [0, 1]), (RobustScaler(), [1, 2]), remainder="passthrough"
    ),
}
DIAGONAL = [name for name in AFFINE if name.startswith(("standard", "min", "max", "robust", "function"))]


def data_mean(name, steps):
    """What the first step that mixes columns has stored as the mean, in the user's columns."""
    if "svd" in name and name != "scaler, svd, min-max":
        return np.zeros(UNEVEN.shape[1])
    return UNEVEN.mean(axis=0)


@pytest.mark.parametrize("name", AFFINE)
def test_closed_form_3(name):
    model = make_pipeline(clone(AFFINE[name]), k_means()).fit(UNEVEN)
    net = wc.neuralize(model, UNEVEN)
    found = net.relevance(UNEVEN)
    origin = UNEVEN.mean(axis=0)
    matrix, at_origin = measured_map(model[:-1], origin)
    around = data_mean(name, model[:-1])
    evidence = []
    for row, x in enumerate(UNEVEN):
        values, f = literal_relevance(
            x, matrix, origin, at_origin, model[-1].cluster_centers_, net.beta, around
        )
        evidence.append(f)
        assert largest(found.values[row] - values) < BOUND * max(1.0, largest(values)), name
    assert largest(found.evidence - evidence) < BOUND * largest(evidence)
    assert net.beta == pytest.approx(1.0 / np.mean(evidence), rel=1e-12)
    assert_conserves(found)
    decided(net, model, UNEVEN)


@pytest.mark.parametrize("name", DIAGONAL)
@pytest.mark.parametrize("cluster", [None, 1])
def test_a_diagonal_map_does_not_change_relevance(name, cluster):
    """R_x = R_a: explaining the scaled table with the bare clustering is the same."""
    model = make_pipeline(clone(AFFINE[name]), k_means()).fit(UNEVEN)
    ex = wc.explain(model, UNEVEN, cluster=cluster)
    scaled = wc.explain(model[-1], model[:-1].transform(UNEVEN), cluster=cluster)
    assert largest(ex.values - scaled.values) < BOUND * largest(scaled.values)
    assert largest(ex.base_values) == 0.0
    assert ex.beta == pytest.approx(scaled.beta, rel=1e-12)


@pytest.mark.parametrize("name", ["scaler, pca", "pca, whitened", "column twice, mixed", "svd"])
@pytest.mark.parametrize(
    "last",
    [
        BisectingKMeans(4, random_state=0),
        SoftKMeans(4, n_init=2, random_state=0),
        SoftKMeans(4, decision="absolute", n_init=2, random_state=0),
        KernelKMeans(3, n_support=4, n_init=2, max_iter=20, random_state=0),
        KernelKMeans(3, algorithm="standard", gamma=0.4, random_state=0),
        KernelKMeans(3, algorithm="leave_one_out", gamma=0.4, random_state=0),
    ],
    ids=lambda model: f"{type(model).__name__} {getattr(model, 'algorithm', getattr(model, 'decision', ''))}",
)
def test_every_clustering_behind_a_mixing_map(name, last):
    model = make_pipeline(clone(AFFINE[name]), clone(last)).fit(UNEVEN)
    net = wc.neuralize(model, UNEVEN)
    decided(net, model, UNEVEN)
    plain = wc.neuralize(model[-1], model[:-1].transform(UNEVEN))
    images = model[:-1].transform(UNEVEN)
    assert largest(net.evidence(UNEVEN) - plain.evidence(images)) < BOUND * largest(plain.evidence(images))
    for question in ({}, {"cluster": 2}, {"cluster": 0, "against": 1}):
        found = net.relevance(UNEVEN, **question)
        assert_conserves(found)
        assert largest(found.explained - plain.relevance(images, **question).explained) < BOUND * 1e3


@pytest.mark.parametrize(
    "name", ["standard", "min-max", "robust", "pca", "scaler, pca", "column transformer"]
)
def test_data_far_from_zero_keep_their_digits(name):
    """A shift of 1e6 leaves 10 of 16 digits in the table; the arithmetic loses none of these."""
    near = np.round(UNEVEN * 2**20) / 2**20  # so that the shift itself is exact
    far = near + 2.0**20
    model = make_pipeline(clone(AFFINE[name]), k_means())
    here = wc.explain(clone(model).fit(near), near)
    there = wc.explain(clone(model).fit(far), far)
    order = [int(np.flatnonzero(there.assigned == c)[0]) for c in np.unique(there.assigned)]
    assert len(order) == 4
    np.testing.assert_array_equal(here.assigned, there.assigned)
    assert largest(here.values - there.values) < 1e-7 * largest(here.values)
    assert_conserves(there)


# --------------------------------------------------------------------------- row norms


def scaled_rows(images, norm):
    order = {"l1": 1, "l2": 2, "max": np.inf}[norm]
    norms = np.array([np.linalg.norm(row, order) for row in images])
    return np.where(norms == 0.0, 1.0, norms)


@pytest.mark.parametrize("norm", ["l1", "l2", "max"])
@pytest.mark.parametrize("before", [None, "scaler", "pca", "svd"])
@pytest.mark.parametrize("after", [None, "pca", "svd", "scaler"])
def test_normalizer(norm, before, after):
    """Per row a scale: closed form 3 for s·(x − x₀), where x₀ is what the first map sends to zero."""
    first = {
        None: [],
        "scaler": [StandardScaler()],
        "pca": [PCA(3)],
        "svd": [TruncatedSVD(3, random_state=0)],
    }[before]
    last = {
        None: [],
        "pca": [PCA(2)],
        "svd": [TruncatedSVD(2, random_state=0)],
        "scaler": [StandardScaler()],
    }[after]
    table = X.copy()
    if before in (None, "svd"):
        table[3] = 0.0  # a zero row stays zero
    model = make_pipeline(*first, Normalizer(norm), *last, k_means(3)).fit(table)
    net = wc.neuralize(model, table)
    found = net.relevance(table)
    decided(net, model, table)
    assert_conserves(found)
    images = table if not first else make_pipeline(*model[:1]).transform(table)
    zero = table.mean(axis=0) if before in ("scaler", "pca") else np.zeros(5)
    rows = (table - zero) / scaled_rows(images, norm)[:, None]
    # The maps around the norm, without their shifts for the inner one.
    inner = np.eye(5) if not first else measured_map(model[:1], zero)[0]
    outer, at_zero = np.eye(len(inner)), np.zeros(len(inner))
    if last:
        outer, at_zero = measured_map(model[len(first) + 1 : -1], np.zeros(len(inner)))
    matrix = outer @ inner
    around = np.zeros(5)
    if after in ("pca", "scaler"):  # these store the mean of the normalised rows
        mean = model[: len(first) + 1].transform(table).mean(axis=0)
        around = np.linalg.pinv(inner) @ mean
    for row in range(len(table)):
        values, _ = literal_relevance(
            rows[row], matrix, np.zeros(5), at_zero, model[-1].cluster_centers_, net.beta, around
        )
        assert largest(found.values[row] - values) < BOUND


def test_a_row_of_norm_zero_that_is_not_zero():
    """Orthogonal to every component: scikit-learn divides it by 1, so its columns keep their size."""
    model = make_pipeline(TruncatedSVD(2, random_state=0), Normalizer(), k_means(3)).fit(X)
    components = model[0].components_
    row = X[0] - X[0] @ components.T @ components
    row -= row @ components.T @ components
    net = wc.neuralize(model, X)
    values, _ = literal_relevance(
        row,
        components,
        np.zeros(5),
        np.zeros(2),
        model[-1].cluster_centers_,
        net.beta,
        np.zeros(5),
    )
    assert largest(components @ row) < 1e-15
    assert largest(values) > 1e-2
    assert largest(net.relevance(row[None]).values[0] - values) < BOUND


def test_two_normalizers():
    model = make_pipeline(Normalizer("l1"), MaxAbsScaler(), Normalizer("l2"), k_means(3)).fit(X)
    net = wc.neuralize(model, X)
    decided(net, model, X)
    assert_conserves(net.relevance(X))
    refused = make_pipeline(Normalizer(), StandardScaler(), Normalizer(), k_means(3)).fit(X)
    with pytest.raises(TypeError, match="second Normalizer"):
        wc.explain(refused, X)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_normalizer_leaves_tiny_rows_alone(dtype):
    """scikit-learn takes norms below ten roundings for zero."""
    model = make_pipeline(Normalizer(), k_means(3)).fit(X.astype(dtype))
    tiny = (X[:20] * (0.1 * np.finfo(dtype).eps)).astype(dtype)
    np.testing.assert_array_equal(wc.neuralize(model).predict(tiny), model.predict(tiny))


# --------------------------------------------------------------------------- encoders


def with_gaps(table, seed=1, share=0.1):
    gaps = np.random.default_rng(seed).random(table.shape) < share
    return np.where(gaps, np.nan, table)


@pytest.mark.parametrize("strategy", ["mean", "median", "most_frequent", "constant"])
def test_imputer(strategy):
    """Filled values are explained as if they had been there."""
    table = with_gaps(UNEVEN)
    model = make_pipeline(SimpleImputer(strategy=strategy), StandardScaler(), k_means()).fit(table)
    ex = wc.explain(model, table)
    filled = model[0].transform(table)
    complete = wc.explain(model[1:], filled)
    assert largest(ex.values - complete.values) < BOUND
    np.testing.assert_array_equal(ex.assigned, model.predict(table))
    np.testing.assert_array_equal(np.isnan(ex.data), np.isnan(table))


def test_imputer_after_a_scaler():
    table = with_gaps(UNEVEN)
    model = make_pipeline(StandardScaler(), SimpleImputer(), PCA(2), k_means()).fit(table)
    ex = wc.explain(model, table)
    middle = model[:2].transform(table)
    np.testing.assert_array_equal(ex.assigned, model.predict(table))
    # The PCA's own explanation, in scaled columns: a diagonal map before it changes nothing.
    assert largest(ex.values - wc.explain(model[2:], middle).values) < BOUND


def test_imputer_after_pca_does_nothing():
    model = make_pipeline(PCA(2), SimpleImputer(), k_means()).fit(X)
    without = wc.explain(make_pipeline(model[0], model[2]), X)
    assert largest(wc.explain(model, X).values - without.values) < BOUND


def test_imputer_indicators_belong_to_their_column():
    table = with_gaps(X)
    model = make_pipeline(SimpleImputer(add_indicator=True), k_means()).fit(table)
    assert model[0].indicator_.features_.size == 5
    ex = wc.explain(model, table)
    encoded = wc.explain(model[1:], model[0].transform(table))
    summed = encoded.values[:, :5].copy()
    summed[:, model[0].indicator_.features_] += encoded.values[:, 5:]
    assert largest(ex.values - summed) < BOUND
    np.testing.assert_array_equal(ex.assigned, model.predict(table))


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("strategy", ["mean", "constant"])
@pytest.mark.filterwarnings("ignore:Skipping features without any observed values")
def test_imputer_with_an_empty_column(kept, strategy):
    table = with_gaps(X)
    table[:, 2] = np.nan
    imputer = SimpleImputer(strategy=strategy, keep_empty_features=kept)
    model = make_pipeline(imputer, k_means()).fit(table)
    ex = wc.explain(model, table)
    np.testing.assert_array_equal(ex.assigned, model.predict(table))
    assert ex.shape == table.shape
    assert largest(ex.values[:, 2]) == 0.0
    assert largest(ex.values) > 1.0


@pytest.mark.parametrize(
    "step",
    [
        MinMaxScaler(clip=True),
        PowerTransformer(),
        QuantileTransformer(n_quantiles=20),
        FunctionTransformer(np.log1p),
        KBinsDiscretizer(4, encode="ordinal", strategy="uniform"),
    ],
    ids=lambda step: type(step).__name__,
)
def test_steps_that_bend_columns(step):
    """Column by column: relevance does not change, and rows outside of the fit are clipped."""
    table = np.abs(UNEVEN)
    model = make_pipeline(StandardScaler(with_mean=False), step, k_means()).fit(table[:60])
    ex = wc.explain(model, table)
    bent = wc.explain(model[-1], model[:-1].transform(table))
    assert largest(ex.values - bent.values) < BOUND * largest(bent.values)
    np.testing.assert_array_equal(ex.assigned, model.predict(table))


def test_bins_are_summed_to_their_column():
    binner = KBinsDiscretizer(3, strategy="uniform")
    model = make_pipeline(binner, k_means()).fit(X)
    ex = wc.explain(model, X)
    encoded = wc.explain(model[-1], model[0].transform(X).toarray())
    assert largest(ex.values - encoded.values.reshape(len(X), 5, 3).sum(axis=2)) < BOUND


def colours(n_rows=80, seed=2):
    generator = np.random.default_rng(seed)
    return np.column_stack(
        [
            generator.choice(["red", "green", "blue", "rare"], n_rows, p=[0.4, 0.3, 0.27, 0.03]),
            generator.choice(["s", "m"], n_rows),
        ]
    ).astype(object)


@pytest.mark.parametrize(
    "encoder",
    [
        OneHotEncoder(),
        OneHotEncoder(sparse_output=False),
        OneHotEncoder(drop="first"),
        OneHotEncoder(drop="if_binary"),
        OneHotEncoder(min_frequency=5, handle_unknown="infrequent_if_exist"),
        OneHotEncoder(min_frequency=5, drop="first"),
        OneHotEncoder(max_categories=2, drop="if_binary"),
        OneHotEncoder(handle_unknown="ignore"),
    ],
    ids=lambda encoder: str(encoder).replace("\n", ""),
)
def test_one_hot_columns_are_summed_to_their_column(encoder):
    table = colours()
    model = make_pipeline(encoder, k_means(3)).fit(table)
    ex = wc.explain(model, table)
    encoded = model[0].transform(table)
    encoded = encoded.toarray() if sp.issparse(encoded) else encoded
    names = list(model[0].get_feature_names_out())
    sources = np.array([int(name[1]) for name in names])
    plain = wc.explain(model[-1], encoded)
    summed = np.column_stack([plain.values[:, sources == column].sum(axis=1) for column in (0, 1)])
    assert ex.shape == (80, 2)
    assert largest(ex.values - summed) < BOUND
    np.testing.assert_array_equal(ex.assigned, model.predict(table))
    if encoder.handle_unknown != "error":
        unknown = table.copy()
        unknown[0] = "never seen", "m"
        np.testing.assert_array_equal(wc.explain(model, unknown).assigned, model.predict(unknown))


def test_ordinal_encoder():
    table = colours()
    model = make_pipeline(OrdinalEncoder(), StandardScaler(), k_means(3)).fit(table)
    ex = wc.explain(model, table)
    scaled = model[:-1].transform(table)
    assert largest(ex.values - wc.explain(model[-1], scaled).values) < BOUND
    np.testing.assert_array_equal(ex.assigned, model.predict(table))


def test_an_encoder_after_a_mixing_step_is_refused():
    binner = KBinsDiscretizer(3, strategy="uniform")
    model = make_pipeline(PCA(2), binner, k_means(3)).fit(X)
    with pytest.raises(TypeError, match=r"'kbinsdiscretizer'.*mixes columns.*transform\(X\)"):
        wc.explain(model, X)


# --------------------------------------------------------------------------- column transformer


def frame():
    table = pd.DataFrame(UNEVEN.copy(), columns=["a", "b", "c", "d", "e"])
    table[["colour", "size"]] = colours()
    return table


def numbers_and_colours(columns, **options):
    return ColumnTransformer(
        [("numbers", StandardScaler(), columns), ("colours", OneHotEncoder(), ["colour", "size"])], **options
    )


def mask(table):
    return [name in "abc" for name in table.columns]


SAME_COLUMNS = {
    "names": ["a", "b", "c"],
    "positions": [0, 1, 2],
    "negative": [-7, -6, -5],
    "slice": slice(0, 3),
    "slice of names": slice("a", "c"),
    "open slice of names": slice(None, "c"),
    "mask": [True, True, True, False, False, False, False],
    "array": np.array(["a", "b", "c"]),
    "index": pd.Index(["a", "b", "c"]),
    "callable": mask,
    "selector": make_column_selector(pattern="^[abc]$"),
}


@pytest.mark.parametrize("columns", SAME_COLUMNS.values(), ids=SAME_COLUMNS)
def test_columns_may_be_named_in_any_way(columns):
    table = frame()
    model = make_pipeline(numbers_and_colours(columns), k_means()).fit(table)
    ex = wc.explain(model, table)
    encoded = np.asarray(model[:-1].transform(table))
    plain = wc.explain(model[-1], encoded).values
    counts = [len(categories) for categories in model[0].named_transformers_["colours"].categories_]
    assert largest(ex.values[:, :3] - plain[:, :3]) < BOUND
    assert largest(ex.values[:, 3] - plain[:, 3 : 3 + counts[0]].sum(axis=1)) < BOUND
    assert largest(ex.values[:, 4] - plain[:, 3 + counts[0] :].sum(axis=1)) < BOUND
    # Columns that are dropped are no features.
    assert ex.feature_names == list(ex.data.columns) == ["a", "b", "c", "colour", "size"]
    np.testing.assert_array_equal(ex.assigned, model.predict(table))


@pytest.mark.parametrize("remainder", ["passthrough", "drop", MinMaxScaler()], ids=str)
def test_the_remainder(remainder):
    table = frame()
    model = make_pipeline(numbers_and_colours(["a", "b", "c"], remainder=remainder), k_means()).fit(table)
    ex = wc.explain(model, table)
    plain = wc.explain(model[-1], model[:-1].transform(table)).values
    dropped = isinstance(remainder, str) and remainder == "drop"
    assert ex.feature_names == [name for name in table.columns if not dropped or name not in ("d", "e")]
    for position in () if dropped else (3, 4):
        wanted = plain[:, position - 5]
        assert largest(ex.values[:, position] - wanted) < BOUND * max(1.0, largest(plain))
    np.testing.assert_array_equal(ex.assigned, model.predict(table))
    assert_conserves(ex)


def test_a_mixing_branch_beside_an_encoded_one():
    table = frame()
    branches = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler(), PCA(2)), ["c", "a", "b"]),
        (make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder()), ["colour"]),
        ("passthrough", ["d"]),
    )
    table.loc[[2, 9], "a"] = np.nan
    table.loc[[4, 9], "colour"] = np.nan
    model = make_pipeline(branches, k_means()).fit(table)
    net = wc.neuralize(model, table)
    found = net.relevance(table)
    decided(net, model, table)
    assert_conserves(found)
    # The literal form in the encoded columns c, a, b (filled), one-hot colours, d.
    filled = branches.named_transformers_["pipeline-1"][0].transform(table[["c", "a", "b"]])
    hot = branches.named_transformers_["pipeline-2"].transform(table[["colour"]]).toarray()
    encoded = np.column_stack([filled, hot, table["d"]])
    scaler, pca = branches.named_transformers_["pipeline-1"][1:]
    width = 3 + hot.shape[1] + 1
    matrix = np.zeros((2 + hot.shape[1] + 1, width))
    matrix[:2, :3] = pca.components_ / scaler.scale_
    matrix[2:, 3:] = np.eye(hot.shape[1] + 1)
    origin = np.concatenate([filled.mean(axis=0), np.zeros(width - 3)])
    for row in range(len(table)):
        values, _ = literal_relevance(
            encoded[row], matrix, origin, np.zeros(len(matrix)), model[-1].cluster_centers_, net.beta, origin
        )
        wanted = [values[1], values[2], values[0], values[-1], 0.0, values[3:-1].sum(), 0.0]
        assert largest(found.values[row] - wanted) < BOUND * max(1.0, largest(wanted))


def test_a_branch_does_not_change_another():
    """A PCA alone, and beside a constant column: no other cluster, so no other relevance."""
    alone = make_pipeline(ColumnTransformer([("pca", PCA(2), [0, 1, 2])]), k_means()).fit(UNEVEN[:, :3])
    table = np.column_stack([UNEVEN[:, :3], np.ones(len(UNEVEN))])
    branches = ColumnTransformer([("pca", PCA(2), [0, 1, 2]), ("rest", "passthrough", [3])])
    beside = make_pipeline(branches, k_means()).fit(table)
    ex, wanted = wc.explain(beside, table), wc.explain(alone, UNEVEN[:, :3])
    assert largest(ex.values[:, :3] - wanted.values) < BOUND * largest(wanted.values)


def test_the_same_column_twice_counts_once_for_each_use():
    """A column in two branches: scaled, and cut into bins."""
    binner = KBinsDiscretizer(3, strategy="uniform")
    branches = ColumnTransformer([("scaled", StandardScaler(), [0, 1]), ("bins", binner, [1])])
    model = make_pipeline(branches, k_means()).fit(X)
    ex = wc.explain(model, X)
    encoded = model[:-1].transform(X)
    plain = wc.explain(model[-1], encoded).values
    assert largest(ex.values[:, 0] - plain[:, 0]) < BOUND
    assert largest(ex.values[:, 1] - plain[:, 1:].sum(axis=1)) < BOUND
    np.testing.assert_array_equal(ex.assigned, model.predict(X))


def test_dropped_columns_may_hold_anything():
    """What the model does not read needs neither be a number nor finite."""
    table = frame()
    table["d"] = np.nan
    branches = ColumnTransformer([("numbers", StandardScaler(), ["a", "b"])])
    model = make_pipeline(branches, k_means()).fit(table)
    ex = wc.explain(model, table)
    np.testing.assert_array_equal(ex.assigned, model.predict(table))
    assert ex.feature_names == ["a", "b"]
    only = wc.explain(make_pipeline(StandardScaler(), k_means()).fit(table[["a", "b"]]), table[["a", "b"]])
    assert largest(ex.values - only.values) < BOUND


IGNORING = {
    "columns": [ColumnTransformer([("numbers", StandardScaler(), ["a", "b"])])],
    "imputed columns": [
        ColumnTransformer([("numbers", make_pipeline(SimpleImputer(), StandardScaler()), ["b", "a"])])
    ],
    "imputed afterwards": [ColumnTransformer([("numbers", StandardScaler(), ["a", "b"])]), SimpleImputer()],
    "one-hot": [ColumnTransformer([("c", OneHotEncoder(), ["colour"]), ("n", StandardScaler(), ["b"])])],
    "nested": [
        make_pipeline(ColumnTransformer([("n", SimpleImputer(), ["e", "a"])]), StandardScaler()),
        PCA(2, random_state=0),
    ],
}


@pytest.mark.parametrize("steps", IGNORING.values(), ids=IGNORING)
def test_columns_that_no_step_reads_may_be_missing(steps, tmp_path, request):
    """As they may for scikit-learn's predict; values are those of the columns that are there."""
    table = frame()
    model = make_pipeline(*steps, k_means()).fit(table)
    fewer = table[["size", "e", "b", "colour", "a"]]
    fewer_names = [name for name in table.columns if name in set(fewer)]
    expected, whole = model.predict(table), wc.explain(model, table)
    ex = wc.explain(model, fewer)
    used = {"e", "a"} if "nested" in request.node.name else {"a", "b"}
    used = {"b", "colour"} if "one-hot" in request.node.name else used
    assert ex.feature_names == list(ex.data.columns) == [name for name in table.columns if name in used]
    assert whole.feature_names == ex.feature_names
    np.testing.assert_array_equal(ex.assigned, expected)
    assert largest(ex.values - whole.values) < BOUND
    assert_conserves(ex)
    assert ex.beta == whole.beta
    assert wc.explain(model, fewer, background=table).beta == whole.beta
    assert ex.ask(cluster=1).shape == wc.explain(model, fewer, method="ig", steps=2).shape == (len(X), 2)
    for background in (fewer, table):
        baseline = wc.explain(model, table, method="ig", steps=2, background=background)
        assert baseline.feature_names == ex.feature_names
    assert 0 < wc.metrics.flipping_auc(model, table, ex, n_repeats=1).auc <= 100
    net = wc.neuralize(model, fewer)
    for one in (net, wc.load(wc.save(net, tmp_path / "net.npz"))):
        np.testing.assert_array_equal(one.predict(fewer), expected)
        np.testing.assert_array_equal(one.evidence(fewer), one.evidence(table))
        np.testing.assert_array_equal(one.logits(fewer), one.logits(table))
        np.testing.assert_array_equal(one.scores(fewer), one.scores(table))
        np.testing.assert_array_equal(one.gradient(fewer), one.gradient(table))
        places = [fewer_names.index(name) for name in ex.feature_names]
        np.testing.assert_array_equal(one.relevance(fewer).values[:, places], ex.values)
        found = wc.explain(one, fewer)  # a network has forgotten why it reads less
        np.testing.assert_array_equal(found.to_pandas()[ex.feature_names].to_numpy(), ex.values)
    with pytest.raises(ValueError, match=r"X lacks the column '(a|b)'.*, which the model was fitted"):
        wc.explain(model, fewer.drop(columns=["a", "b"]))


@pytest.mark.filterwarnings("ignore:The surrogate agrees")  # how well is not asked here
def test_clusterings_of_which_only_labels_are_known_ignore_columns_too():
    table = frame()
    numbers = ColumnTransformer([("numbers", StandardScaler(), ["a", "b"])])
    model = make_pipeline(numbers, AgglomerativeClustering(3)).fit(table)
    ex = wc.explain(model, table.drop(columns=["c", "colour"]))
    assert ex.feature_names == ["a", "b"]
    assert largest(ex.values - wc.explain(model, table).values) < BOUND
    with pytest.raises(ValueError, match="X lacks the column 'b', which the model was fitted on"):
        wc.explain(model, table.drop(columns=["b", "c"]))


def test_a_selector_may_drop_columns_with_gaps():
    table = np.column_stack([X, np.ones(len(X))])
    table[3, 5] = np.nan
    model = make_pipeline(VarianceThreshold(0.1), k_means()).fit(table)
    ex = wc.explain(model, table)
    np.testing.assert_array_equal(ex.assigned, model.predict(table))
    assert largest(ex.values[:, 5]) == 0.0


def test_selectors_that_look_at_a_target():
    labels = np.arange(len(X)) % 3
    selector = SelectKBest(f_classif, k=2).fit(X, labels)
    kept = selector.get_support()
    model = Pipeline([("select", selector), ("cluster", k_means().fit(selector.transform(X)))])
    ex = wc.explain(model, X)
    assert largest(ex.values[:, ~kept]) == 0.0
    assert largest(ex.values[:, kept] - wc.explain(model[-1], X[:, kept]).values) < BOUND


def test_frames_keep_their_types():
    """A nullable column with gaps behind an imputer, beside a one-hot column."""
    table = frame()
    table["count"] = pd.array([1, 2, None, 4] * 20, dtype="Int64")
    branches = make_column_transformer(
        (StandardScaler(), ["a", "b"]), (SimpleImputer(), ["count"]), (OneHotEncoder(), ["colour"])
    )
    model = make_pipeline(branches, k_means()).fit(table)
    ex = wc.explain(model, table)
    np.testing.assert_array_equal(ex.assigned, model.predict(table))


@pytest.mark.parametrize("output", ["pandas", "default"])
def test_set_output(output):
    table = frame()
    branches = make_column_transformer(
        (make_pipeline(StandardScaler(), PCA(2)), ["a", "b", "c"]),
        (OneHotEncoder(sparse_output=False), ["colour"]),
        (SimpleImputer(), ["d"]),
    )
    model = make_pipeline(branches, SimpleImputer(), StandardScaler(), k_means())
    model.set_output(transform=output).fit(table)
    ex = wc.explain(model, table)
    np.testing.assert_array_equal(ex.assigned, model.predict(table))
    assert_conserves(ex)
    plain = make_pipeline(*(clone(step) for step in model)).set_output(transform="default").fit(table)
    assert largest(ex.values - wc.explain(plain, table).values) < BOUND


def test_columns_in_another_order_are_matched_by_name():
    table = frame()
    model = make_pipeline(numbers_and_colours(["a", "b", "c"]), k_means()).fit(table)
    ex = wc.explain(model, table)
    shuffled = table[["size", "e", "b", "colour", "a", "c", "d"]]
    again = wc.explain(model, shuffled)
    assert again.feature_names == list(again.data.columns) == ["a", "b", "c", "colour", "size"]
    np.testing.assert_array_equal(again.values, ex.values)
    with pytest.raises(ValueError, match=r"lacks the column 'a', which the model was fitted on"):
        wc.explain(model, table.drop(columns="a"))


def test_columns_that_the_model_does_not_know_are_left_out_aloud(tmp_path):
    table = frame()[["a", "b", "c"]]
    model = make_pipeline(StandardScaler(), k_means()).fit(table)
    ex = wc.explain(model, table)
    more = table.assign(extra=1.0, note="text")[["extra", "c", "b", "note", "a"]]
    with pytest.warns(UserWarning, match=r"was not fitted on were left out: 'extra', 'note'\.") as told:
        again = wc.explain(model, more)
    assert len(told) == 1
    assert again.feature_names == ["a", "b", "c"]
    np.testing.assert_array_equal(again.values, ex.values)
    assert again.notes == [str(told[0].message)]
    assert "&#39;extra&#39;, &#39;note&#39;" in again.to_html(tmp_path / "page.html").read_text()
    assert wc.load(again.save(tmp_path / "ex.npz")).notes == again.notes
    assert ex.notes == []
    with pytest.warns(UserWarning, match="left out: 'extra', 'note'"):
        np.testing.assert_array_equal(wc.neuralize(model, table).predict(more), ex.assigned)
    with pytest.warns(UserWarning, match="left out: 'extra', 'note'"):
        assert wc.audit(model, more, n_refits=0, n_repeats=1, max_rows=20).trusted
    # Of a table that lacks columns besides, this is said first.
    with pytest.raises(ValueError, match=r"lacks the column 'a', which the model was fitted on"):
        wc.explain(model, more.drop(columns="a"))


def test_polars_frames():
    table = pl.from_pandas(frame())
    model = make_pipeline(numbers_and_colours(["a", "b", "c"]), k_means()).fit(table)
    ex = wc.explain(model, table)
    assert ex.feature_names == ["a", "b", "c", "colour", "size"]
    np.testing.assert_array_equal(ex.assigned, model.predict(table))
    pandas_model = make_pipeline(numbers_and_colours(["a", "b", "c"]), k_means()).fit(frame())
    assert largest(ex.values - wc.explain(pandas_model, frame()).values) < BOUND


def test_polars_nulls():
    table = pl.from_pandas(frame()).with_columns(
        colour=pl.when(pl.col("a") > pl.col("a").median()).then(pl.col("colour"))
    )
    model = make_pipeline(numbers_and_colours(["a", "b", "c"]), k_means()).fit(table)
    np.testing.assert_array_equal(wc.explain(model, table).assigned, model.predict(table))


def test_an_array_for_a_model_fitted_on_a_frame():
    table = frame()[["a", "b", "c"]]
    model = make_pipeline(SimpleImputer(), StandardScaler(), k_means()).fit(table)
    ex = wc.explain(model, table.to_numpy())
    assert ex.feature_names == ["a", "b", "c"]
    np.testing.assert_array_equal(ex.values, wc.explain(model, table).values)


def test_float32_behind_steps():
    table = UNEVEN.astype(np.float32)
    model = make_pipeline(StandardScaler(), PCA(2), k_means()).fit(table)
    ex = wc.explain(model, table)
    assert ex.values.dtype == np.float32
    double = wc.explain(model, table.astype(np.float64))
    assert largest(ex.values - double.values) < 2e-4 * largest(double.values)


# --------------------------------------------------------------------------- refusals


def named_python_function(table):
    return table


UNSUPPORTED = {
    "polynomialfeatures": make_pipeline(PolynomialFeatures(), k_means()),
    "inner": make_pipeline(
        StandardScaler(), Pipeline([("ok", RobustScaler()), ("inner", PolynomialFeatures())]), k_means()
    ),
    "branch": make_pipeline(
        ColumnTransformer([("ok", StandardScaler(), [0]), ("branch", PolynomialFeatures(), [1, 2])]),
        k_means(),
    ),
    "functiontransformer": make_pipeline(FunctionTransformer(named_python_function), k_means()),
}


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_an_unsupported_step_is_named_with_the_ways_out(name):
    model = UNSUPPORTED[name].fit(X)
    with pytest.raises(TypeError) as caught:
        wc.explain(model, X)
    message = str(caught.value)
    assert f"'{name}'" in message
    assert ("PolynomialFeatures" in message) or ("named_python_function" in message)
    assert "pipeline[:-1].transform(X)" in message
    assert "step_describer" in message
    # The way out that is named works.
    ex = wc.explain(model[-1], model[:-1].transform(X))
    np.testing.assert_array_equal(ex.assigned, model.predict(X))


def test_a_normalizer_on_some_columns_is_refused():
    branches = ColumnTransformer([("norm", Normalizer(), [0, 1]), ("rest", StandardScaler(), [2])])
    with pytest.raises(TypeError, match="Normalizer on some of the columns"):
        wc.explain(make_pipeline(branches, k_means()).fit(X), X)


def test_a_registered_step_is_followed():
    from whyclust.network import AffineMap, step_describer

    class Doubler(StandardScaler):
        pass

    @step_describer(Doubler)
    def describe(step, n_inputs):
        return [AffineMap(np.diag(1.0 / step.scale_), step.mean_, np.zeros(n_inputs))]

    model = make_pipeline(Doubler(), k_means()).fit(UNEVEN)
    usual = make_pipeline(StandardScaler(), k_means()).fit(UNEVEN)
    assert largest(wc.explain(model, UNEVEN).values - wc.explain(usual, UNEVEN).values) < BOUND


def test_a_branch_without_columns():
    """A selector of columns that matches nothing, as in scikit-learn."""
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(50, 3)), columns=list("abc"))
    steps = ColumnTransformer(
        [("number", StandardScaler(), ["a", "b", "c"]), ("category", OneHotEncoder(), [])]
    )
    model = make_pipeline(steps, KMeans(3, n_init=1, random_state=0)).fit(frame)
    assert np.array_equal(wc.neuralize(model, frame).predict(frame), model.predict(frame))


def test_whitening_of_directions_without_variance():
    """scikit-learn divides by no less than the smallest number that changes 1: so must the network."""
    table = blobs(60, 3)
    table[:, 2] = 0.0
    model = make_pipeline(PCA(3, whiten=True), KMeans(3, n_init=2, random_state=0)).fit(table)
    assert model[0].explained_variance_[2] == 0.0
    net = wc.neuralize(model, table)
    distances = model[-1].transform(model[0].transform(table)) ** 2
    assert np.array_equal(net.predict(table), distances.argmin(axis=1))
    wanted = np.sort(distances, axis=1)
    assert largest(net.evidence(table) - (wanted[:, 1] - wanted[:, 0])) < BOUND
    found = net.relevance(table)
    assert np.array_equal(found.values[:, 2], np.zeros(60))
    assert largest(found.values.sum(axis=1) + found.base_values - found.explained) < BOUND


@pytest.mark.parametrize("scaler", [StandardScaler(with_mean=False), MinMaxScaler()])
def test_a_branch_is_inverted_around_its_own_mean(scaler):
    """Fewer components than columns: where centres are in the columns depends on what they are seen from."""
    table = blobs(80, 4) + np.array([5.0, -3.0, 2.0, 8.0])
    clusters = KMeans(3, n_init=2, random_state=0)
    alone = make_pipeline(scaler, PCA(2), clusters).fit(table)
    branch = ColumnTransformer([("all", make_pipeline(clone(scaler), PCA(2)), [0, 1, 2, 3])])
    inside = make_pipeline(branch, clone(clusters)).fit(table)
    one, other = (wc.neuralize(model, table).relevance(table) for model in (alone, inside))
    assert np.abs(one.values - other.values).max() < 1e-10
    assert np.abs(one.base_values - other.base_values).max() < 1e-10
