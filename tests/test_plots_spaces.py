"""Pictures of the two spaces of ACe/DeC, and what the report says of them."""

import copy
import re
import tracemalloc
import warnings
from functools import partial
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

import generators
import whyclust as wc
from test_report_data import read

pytest.importorskip("torch", reason="needs PyTorch")
pytest.importorskip("matplotlib", reason="needs matplotlib")

import matplotlib
import torch
from matplotlib.backends.backend_agg import FigureCanvasAgg

from whyclust.cluster import SubKMeans
from whyclust.deep import DCN, ACeDeC
from whyclust.explaining.ignored import ignored, share_of_shared
from whyclust.plots import undoing
from whyclust.plots.undoing import usual
from whyclust.report.clusters import cluster_values
from whyclust.report.data.model import _Rows
from whyclust.report.spaces import spaces as told_of

NAMES = ["income", "age", "visits", "basket", "rainfall"]
POINTS, KINDS = wc.datasets.make_synth(240, n_noise_dimensions=3, random_state=0)
TABLE = pd.DataFrame(
    POINTS * [900.0, 9.0, 3.0, 2.0, 40.0] + [30_000.0, 45.0, 12.0, 9.0, 700.0], columns=NAMES
)
DIGITS = (load_digits().data[:300] / 16.0).astype(np.float32)


WEIGHTS = [0.95, 0.5, 0.9, 0.53, 0.51]
ALL_CLUSTER, ALL_SHARED = [0.95, 0.8, 0.9, 0.7, 0.6], [0.5, 0.51, 0.5, 0.53, 0.51]


def fitted(X, k, before=(), weights=None, **settings):
    """A short fit, after which weights are set that a long one might have learned."""
    settings = {
        "hidden": (),
        "epochs": 3,
        "pretrain_epochs": 3,
        "batch_size": 32,
        "random_state": 0,
    } | settings
    model = ACeDeC(DCN(k, **settings), space_epochs=3)
    whole = make_pipeline(*before, model) if before else model
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The spaces have collapsed")
        whole.fit(X)
    weigh(model, weights or WEIGHTS, whole[:-1].transform(X) if before else X)
    return whole


def weigh(model, weights, X):
    model.model_.space.scores.data = torch.tensor(weights).logit()
    model.labels_ = model.predict(X)
    model._describe_clusters(model._checked(X, reset=False))
    return model


@pytest.fixture(scope="module")
def synth():
    return fitted(TABLE, 4, [StandardScaler()])


@pytest.fixture(scope="module")
def digits():
    return fitted(DIGITS, 4, hidden=(16,), embedding_dim=4, weights=[0.5, 0.9, 0.7, 0.52])


@pytest.fixture(scope="module")
def ten():
    return fitted(DIGITS, 10, hidden=(16,), embedding_dim=4, weights=[0.6, 0.9, 0.7, 0.52], epochs=8)


@pytest.fixture(autouse=True)
def nothing_global():
    before = dict(matplotlib.rcParams)
    with generators.untouched():
        yield
    assert dict(matplotlib.rcParams) == before


def written(axis):
    return np.array([float(text.get_text().replace(",", "")) for text in axis.texts])


def drawn_points(axis):
    return np.concatenate([np.asarray(part.get_offsets()) for part in axis.collections])


# --- reconstructions --------------------------------------------------------------------------------


def test_rows_and_what_each_space_keeps(synth, tmp_path):
    figure = wc.plots.reconstructions(synth, TABLE, rows=[7, 30], path=tmp_path / "rows.png")
    assert (tmp_path / "rows.png").stat().st_size > 1000
    axis = figure.axes[0]
    assert [label.get_text() for label in axis.get_xticklabels()] == NAMES
    labels = [label.get_text() for label in axis.get_yticklabels()]
    deep, scaled = synth[-1], synth[:-1].transform(TABLE.iloc[[7, 30]])
    first = deep.predict(scaled)[0]
    kept = ["from the cluster space", "from the shared space"]
    assert labels[:3] == [f"cluster {first}, row 7: input", *kept]
    parts = [synth[0].inverse_transform(deep.reconstruct(scaled, space=s)) for s in ("cluster", "shared")]
    expected = np.stack([TABLE.iloc[[7, 30]].to_numpy(), *parts], axis=1)
    np.testing.assert_allclose(written(axis).reshape(expected.shape), expected, rtol=0.02)
    # Columns may come in any order, rows have names.
    other = TABLE[NAMES[::-1]].set_axis([f"r{row}" for row in range(240)])
    again = wc.plots.reconstructions(synth, other, rows=[7, 30]).axes[0]
    assert (written(again) == written(axis)).all()
    assert again.get_yticklabels()[0].get_text() == f"cluster {first}, row r7: input"
    assert "Weights are soft" in figure.get_supxlabel()
    hard = deep.hardened(synth[:-1].transform(TABLE))
    assert wc.plots.reconstructions(hard, synth[:-1].transform(TABLE), rows=7).get_supxlabel() == ""


def test_one_typical_row_of_each_cluster(digits):
    figure = wc.plots.reconstructions(digits, DIGITS, image_shape=(8, 8))
    points, centers, labels = digits.transform(DIGITS), digits.cluster_centers_, digits.predict(DIGITS)
    typical = [
        min(np.flatnonzero(labels == c), key=lambda row: np.linalg.norm(points[row] - centers[labels[row]]))
        for c in range(4)
    ]
    assert [axis.get_title() for axis in figure.axes[:4]] == [
        f"cluster {c}\nrow {row}" for c, row in enumerate(typical)
    ]
    shown = np.stack([axis.images[0].get_array() for axis in figure.axes]).reshape(3, 4, 64)
    parts = [digits.reconstruct(DIGITS[typical], space=space) for space in ("cluster", "shared")]
    np.testing.assert_allclose(shown, [DIGITS[typical], *parts], atol=1e-6)
    assert len({axis.images[0].get_clim() for axis in figure.axes}) == 1
    as_images = wc.plots.reconstructions(digits, DIGITS.reshape(-1, 8, 8), rows=[3], image_shape=(8, 8))
    assert len(as_images.axes) == 3


def test_missing_values_are_drawn_as_missing():
    holes = TABLE.copy()
    holes.iloc[7, 2] = np.nan
    model = fitted(holes, 4, [SimpleImputer(), StandardScaler()])
    axis = wc.plots.reconstructions(model, holes, rows=[7]).axes[0]
    assert [text.get_text() for text in axis.texts].index("missing") == 2


# --- spaces -----------------------------------------------------------------------------------------


def test_both_spaces_side_by_side(synth):
    left, right, bars = wc.plots.spaces(synth, TABLE).axes
    deep, scaled = synth[-1], synth[:-1].transform(TABLE)
    turned, weights = deep.turned(scaled), deep.cluster_weights_
    assert len(deep.cluster_dims_) >= 2
    assert len(deep.shared_dims_) >= 2

    def ordered(points):
        return points[np.lexsort(points.T)]

    np.testing.assert_allclose(
        ordered(drawn_points(left)), ordered(turned[:, deep.cluster_dims_[:2]]), atol=1e-6
    )
    units, spreads = deep.directions("shared")
    expected = (turned - deep.turned_mean_) @ units[:2].T
    np.testing.assert_allclose(ordered(drawn_points(right)), ordered(expected), atol=1e-6)
    share = spreads[1] ** 2 / (spreads**2).sum()
    assert right.get_ylabel() == f"direction 2 ({share:.0%} of its variance)"
    order = np.argsort(-weights, kind="stable")
    heights = {round(bar.get_x() + bar.get_width() / 2): bar.get_height() for bar in bars.patches}
    np.testing.assert_allclose([heights[place] for place in range(len(order))], weights[order])
    assert [label.get_text() for label in bars.get_xticklabels()] == [str(dim) for dim in order]
    # A point has the colour of its cluster.
    rows = np.random.default_rng(0).permutation(240)
    np.testing.assert_allclose(drawn_points(right), expected[rows], atol=1e-6)
    colours = left.collections[0].get_facecolors()
    labels = deep.predict(scaled)[rows]
    by_cluster = [{tuple(colour) for colour in colours[labels == cluster]} for cluster in range(4)]
    assert all(len(found) == 1 for found in by_cluster)
    assert len(set.union(*by_cluster)) == 4


def test_labels_of_your_own_and_many_rows(synth):
    many = pd.concat([TABLE] * 25)
    labels = pd.Series([f"kind {kind}" for kind in KINDS])
    figure = wc.plots.spaces(synth, many, labels=pd.concat([labels] * 25).to_numpy())
    assert "5,000 of 6,000 rows" in figure.get_suptitle()
    assert len(drawn_points(figure.axes[0])) == 5_000
    legend = figure.legends[0]
    assert [text.get_text() for text in legend.get_texts()] == [f"kind {kind}" for kind in range(4)]
    with pytest.raises(ValueError, match=r"labels has shape \(3,\), expected one label for each of 240 rows"):
        wc.plots.spaces(synth, TABLE, labels=[0, 1, 2])


def test_a_space_of_one_dimension_or_of_none(digits):
    narrow = weigh(copy.deepcopy(digits), [0.9, 0.5, 0.2, 0.3], DIGITS)
    left, right, _ = wc.plots.spaces(narrow, DIGITS).axes
    strip = drawn_points(left)
    np.testing.assert_allclose(np.sort(strip[:, 0]), np.sort(narrow.turned(DIGITS)[:, 0]), atol=1e-6)
    assert (np.bincount(strip[:, 1].round().astype(int)) == np.bincount(narrow.predict(DIGITS))).all()
    assert len(drawn_points(right)) == 300
    none = weigh(copy.deepcopy(digits), [0.9, 0.8, 0.7, 0.9], DIGITS)
    assert wc.plots.spaces(none, DIGITS).axes[1].texts[0].get_text() == "no dimension is in this space"


def test_more_clusters_than_colours(ten):
    figure = wc.plots.spaces(ten, DIGITS)
    styles = {(handle.get_color(), handle.get_marker()) for handle in figure.legends[0].legend_handles}
    assert len(styles) == 10


# --- traversal --------------------------------------------------------------------------------------


def test_ways_and_the_rows_on_them(synth):
    deep = synth[-1]
    figure = wc.plots.traversal(synth, TABLE, clusters=[2, 0], steps=3, extent=1.5)
    table, beside = (axis for axis in figure.axes if axis.get_label() != "<colorbar>")
    dim = int(np.argmax(deep.cluster_weights_))
    order = sorted([2, 0], key=lambda c: -deep.way(cluster=c)[0, dim])
    marks = ["-1.5", "0", "+1.5"]
    labels = [label.get_text() for label in table.get_yticklabels()]
    assert labels == [f"cluster {c}: {mark} sd" for c in order for mark in marks]
    rows = [synth[0].inverse_transform(deep.traverse(cluster=c, steps=3, extent=1.5)) for c in order]
    np.testing.assert_allclose(written(table).reshape(2, 3, 5), rows, rtol=0.02)
    unit = deep.directions("shared")[0][0]
    for number, cluster in enumerate(order):
        way = deep.way(cluster=cluster, steps=3, extent=1.5)
        crosses = beside.lines[2 * number + 1].get_xydata()
        np.testing.assert_allclose(crosses[:, 0], (way - deep.turned_mean_) @ unit, atol=1e-6)
        np.testing.assert_allclose(crosses[:, 1], way[:, dim], atol=1e-6)
    assert len(drawn_points(beside)) == 240


def test_ways_as_images(digits):
    figure = wc.plots.traversal(digits, DIGITS, steps=4, image_shape=(8, 8))
    images = [axis.images[0].get_array() for axis in figure.axes if axis.images]
    dim = int(np.argmax(digits.cluster_weights_))
    order = sorted(range(4), key=lambda c: -digits.way(cluster=c)[0, dim])
    rows = np.concatenate([digits.traverse(cluster=c, steps=4) for c in order])
    np.testing.assert_allclose(np.reshape(images, rows.shape), rows, atol=1e-6)
    with pytest.raises(ValueError, match="cluster 9 is unknown"):
        wc.plots.traversal(digits, DIGITS, clusters=[9])
    with pytest.raises(ValueError, match="component=7 is unknown"):
        wc.plots.traversal(digits, DIGITS, component=7)


# --- tables of what is ignored ----------------------------------------------------------------------


def test_pictures_of_what_is_ignored_claim_no_reasons(synth):
    """Values are what clusters do not use: no title, axis or legend may say that they speak for one."""
    ex = wc.explain(synth, TABLE, space="shared")
    size = int((ex.clusters == 0).sum())
    titles = {
        "What is ignored in each cluster": [ex.plot.bar(), ex.plot.dots()],
        f"What is ignored in cluster 0 ({size} rows)": [ex.plot.bar(cluster=0)],
        "What is ignored in 240 rows, column by column": [ex.plot.beeswarm()],
        f"What is ignored in {size} rows of cluster 0, column by column": [ex.plot.beeswarm(cluster=0)],
        "What is ignored, row by row": [ex.plot.heatmap()],
        f"What is ignored: row 3, in cluster {ex.clusters[3]}": [ex.plot.waterfall(row=3)],
        "240 rows, coloured by how much is ignored": [ex.plot.map(color="evidence")],
    }
    for title, drawn in titles.items():
        for ax in drawn:
            assert ax.get_title() == title
            said = " ".join(text.get_text() for text in ax.figure.findobj(matplotlib.text.Text))
            for word in ("speaks", "against", "counts", "boundary", "cluster's relevance"):
                assert word not in said, (title, word)


def test_images_of_what_is_ignored_claim_no_reasons(digits):
    figure = wc.explain(digits, DIGITS.reshape(-1, 8, 8)[:40], space="shared").plot.relevance()
    assert figure.get_suptitle() == "What is ignored in single rows"
    assert figure.axes[-1].get_ylabel() == "relevance for the shared space\n/ the largest of the image"


def test_no_rows_are_similar_in_what_is_ignored(synth):
    with pytest.raises(ValueError, match=r"what the clustering ignores, but here .* without space="):
        wc.explain(synth, TABLE, space="shared").similar(0)


# --- used and ignored -------------------------------------------------------------------------------


def test_bars_of_both_sides(synth):
    figure = wc.plots.used_and_ignored(synth, TABLE, 11)
    used, rest = wc.explain(synth, TABLE)[11], wc.explain(synth, TABLE, space="shared")[11]
    sides = [ex.values[0] / np.abs(ex.values[0]).sum() for ex in (used, rest)]
    order = np.argsort(-np.abs(sides).max(axis=0), kind="stable")
    for axis, values in zip(figure.axes, sides, strict=True):
        np.testing.assert_allclose([bar.get_width() for bar in axis.patches], values[order], atol=1e-5)
        assert np.abs([bar.get_width() for bar in axis.patches]).sum() == pytest.approx(1.0)
    labels = [label.get_text().split(" = ")[0] for label in figure.axes[0].get_yticklabels()]
    assert labels == [NAMES[column] for column in order]
    assert "absolute values sum to 1" in figure.get_supxlabel()
    assert figure.get_suptitle() == f"Row 11, in cluster {used.assigned[0]}"


def test_many_columns_and_images(digits):
    figure = wc.plots.used_and_ignored(digits, DIGITS, 5)
    assert len(figure.axes[0].patches) == 12
    assert "The 12 columns of 64" in figure.get_supxlabel()
    maps = wc.plots.used_and_ignored(digits, DIGITS, 5, image_shape=(8, 8))
    assert len(wc.plots.used_and_ignored(digits, DIGITS.reshape(-1, 8, 8), 5).axes) == len(maps.axes)
    np.testing.assert_allclose(maps.axes[0].images[0].get_array(), DIGITS[5].reshape(8, 8))
    for axis, space in ((maps.axes[1], "cluster"), (maps.axes[2], "shared")):
        values = wc.explain(digits, DIGITS, space=space).values[5]
        drawn = axis.images[0].get_array()
        np.testing.assert_allclose(drawn.ravel(), values / np.abs(values).sum(), atol=1e-5)


def test_axes_of_both_sides_can_be_read(digits):
    figure = wc.plots.used_and_ignored(digits, DIGITS, 30)
    FigureCanvasAgg(figure).draw()
    for axis in figure.axes:
        low, high = axis.get_xlim()
        shown = [one for one in axis.get_xticklabels() if low <= one.get_position()[0] <= high]
        boxes = [one.get_window_extent() for one in shown]
        assert all(one.x1 + 5 < two.x0 for one, two in pairwise(boxes))


def test_rows_by_name_and_counted_from_the_end(synth):
    named = TABLE.set_axis([f"w{row}" for row in range(240)])
    titles = [wc.plots.used_and_ignored(synth, named, row).get_suptitle() for row in ("w3", -1)]
    assert [title.split(",")[0] for title in titles] == ["Row w3", "Row w239"]
    for rows in (["w3", "w239"], [3, -1], (3, 239)):
        labels = wc.plots.reconstructions(synth, named, rows=rows).axes[0].get_yticklabels()
        assert [one.get_text().split(", ")[1] for one in labels[::3]] == ["row w3: input", "row w239: input"]


# --- spaces that are not apart ----------------------------------------------------------------------


def literal_leftover(model, X):
    """The part of s = ‖β_ss ⊙ Vᵀ(z − μ)‖² in dimensions of the cluster space, dimension by dimension."""
    with torch.no_grad():
        z = model.model_.encoder(torch.tensor(np.asarray(X, dtype=np.float32))).numpy().astype(float)
    away = (z - model.model_.space.middle.numpy()) @ model.rotation_
    parts = [((1 - model.cluster_weights_[dim]) * away[:, dim]) ** 2 for dim in range(away.shape[1])]
    return sum(parts[dim].sum() for dim in model.cluster_dims_) / sum(part.sum() for part in parts)


SOFT = "Weights are soft: {} of what is ignored lies in dimensions of the cluster space"


def said_below(figure):
    return figure.get_supxlabel().replace("\n", " ")


def test_what_is_ignored_and_used_all_the_same_is_told(digits, tmp_path):
    share = literal_leftover(digits, DIGITS)
    assert share > 0.06
    ex, rest = wc.explain(digits, DIGITS), wc.explain(digits, DIGITS, space="shared")
    assert rest.provenance.spaces.leftover == pytest.approx(share, rel=1e-5)
    said = SOFT.format(f"{share:.0%}")
    kept = [wc.load(rest.save(tmp_path / f"ex.{kind}")) for kind in ("npz", "json", "parquet")]
    for one in (rest, rest[5], wc.Explanation.concat([rest[:9], rest[9:]]), *kept):
        assert one.describe().count(said) == 1
        assert repr(one.summary()).splitlines()[-1].startswith(said)
        assert said in one._repr_html_()
    page = rest.to_html(tmp_path / "rest.html").read_text()
    assert [line["text"].startswith(said) for line in read(page)[0]["headlines"]] == [True]
    assert f'<p class="headline weak">{said}' in page
    page = ex.to_html(tmp_path / "page.html").read_text()
    assert said in page.split("What the clusters use, and what they ignore</h2>")[1].split("</section>")[0]
    for one in read(page)[0]["clusters"]:
        assert one["model"]["spaces"]["doubt"].startswith(said)
        assert one["model"]["spaces"]["ignores"]
    said = SOFT.format(f"{literal_leftover(digits, DIGITS[5:6]):.0%}")  # of the row that is drawn
    for shape in (None, (8, 8)):
        assert said in said_below(wc.plots.used_and_ignored(digits, DIGITS, 5, image_shape=shape))
    assert "soft" not in ex.describe()


def test_a_small_leftover_and_hard_weights_are_not_told(digits, tmp_path):
    small = weigh(copy.deepcopy(digits), [0.5, 0.97, 0.96, 0.52], DIGITS)
    assert 0 < literal_leftover(small, DIGITS) < 0.05
    hard = digits.hardened(DIGITS)
    assert wc.explain(hard, DIGITS, space="shared").provenance.spaces.leftover == 0.0
    for model in (small, hard):
        rest = wc.explain(model, DIGITS, space="shared")
        assert rest.provenance.doubt is None
        page = wc.explain(model, DIGITS).to_html(tmp_path / "page.html").read_text()
        told = [rest.describe(), repr(rest.summary()), page]
        assert not any("of what is ignored lies in dimensions" in one for one in told)


@pytest.mark.parametrize(("weights", "place"), [(ALL_CLUSTER, "cluster"), (ALL_SHARED, "shared")])
def test_spaces_that_collapsed_are_told_wherever_they_are_asked_for(synth, tmp_path, weights, place):
    whole = copy.deepcopy(synth)
    model, scaled = whole[-1], whole[:-1].transform(TABLE)
    weigh(model, weights, scaled)
    told = model.collapsed_spaces
    assert told.startswith(
        f"The spaces have collapsed: all 5 dimensions of the embedding are in the {place} "
    )
    with pytest.warns(UserWarning, match=told) as caught:
        rest = wc.explain(whole, TABLE, space="shared")
    assert caught[0].filename == __file__
    wc.explain(whole, TABLE, space="cluster")  # is what it is
    for said in (rest.describe(), rest[3].describe(), repr(rest.summary())):
        assert said.endswith(told)
    assert told in rest.to_html(tmp_path / "page.html").read_text()
    assert said_below(wc.plots.used_and_ignored(whole, TABLE, 3)).endswith(told)
    figure = wc.plots.spaces(whole, TABLE)
    assert figure.get_supxlabel() == told
    assert [axis.get_title() for axis in figure.axes[:2]] == ["Cluster space", "Shared space"]
    other = {"cluster": "shared", "shared": "cluster"}[place]
    with pytest.raises(ValueError, match=f"{told} There is no direction of the {other} space"):
        model.traverse(other)
    assert model.traverse(place).shape == (7, 5)
    if place == "cluster":
        with pytest.raises(ValueError, match=told):
            wc.plots.traversal(whole, TABLE)
    else:
        figure = wc.plots.traversal(whole, TABLE)
        assert figure.get_supxlabel() == told
        assert "cluster space" not in {axis.get_ylabel().split(":")[0] for axis in figure.axes}


def test_spaces_that_are_apart_are_said_to_be(synth):
    assert synth[-1].collapsed_spaces is None
    figure = wc.plots.spaces(synth, TABLE)
    assert figure.get_supxlabel() == ""
    assert [axis.get_title().split(": ")[1] for axis in figure.axes[:2]] == [
        "tells clusters apart",
        "what all clusters have in common",
    ]
    labels = {axis.get_ylabel().split(":")[0] for axis in wc.plots.traversal(synth, TABLE).axes}
    assert "cluster space" in labels


# --- columns that hardly vary -----------------------------------------------------------------------


def test_columns_that_hardly_vary_do_not_dominate(digits):
    """A decoder errs in all columns alike: in deviations of a pixel that is nearly always 0 that is much."""
    deviations = digits.feature_deviations_
    varying = deviations[deviations > 0]
    faint = np.flatnonzero(deviations < 0.1 * np.median(varying))
    assert len(faint) > len(deviations) - len(varying) > 0
    mean, found = usual(digits)
    np.testing.assert_allclose(mean, digits.feature_means_)
    np.testing.assert_allclose(found, np.maximum(deviations, 0.1 * np.median(varying)), rtol=1e-6)
    rows = wc.explain(digits, DIGITS)
    row = np.zeros((2, 64))
    row[1, faint[0]], row[1, 20] = 0.01, deviations[20]
    first = _Rows(rows, digits).way(row, "from here to there")["columns"][0]["name"]
    assert first == "x20"
    # Units of the user's columns say nothing: behind a scaler all are seen alike.
    units = np.array([1e-3, 1.0, 1e3, 1e6, 1.0])
    model = fitted(POINTS * units, 4, [StandardScaler()])
    np.testing.assert_allclose(usual(model)[1], (POINTS * units).std(axis=0), rtol=1e-4)


def test_deviations_of_mixed_columns_are_those_of_each_column_moved_alone(digits, monkeypatch):
    """In blocks, and where steps take each column for itself, all at once."""
    monkeypatch.setattr(undoing, "_BLOCK", 3)
    for steps in ([StandardScaler(), PCA(5, random_state=0)], [StandardScaler()], [PCA(5, random_state=0)]):
        model = fitted(POINTS * [1.0, 2.0, 3.0, 4.0, 5.0], 4, steps)
        mean, found = usual(model)
        deep = model[-1]
        widths = np.maximum(deep.feature_deviations_, 0.1 * np.median(deep.feature_deviations_))
        moved = undoing.undone(model, deep.feature_means_ + np.diag(widths)) - mean
        np.testing.assert_allclose(found, np.linalg.norm(moved, axis=0), rtol=1e-12)


def test_deviations_of_many_columns_need_little_memory():
    """Columns × columns would be 3 GB."""
    deep = SimpleNamespace(feature_means_=np.zeros(20_000), feature_deviations_=np.ones(20_000))
    scaler = StandardScaler().fit(np.random.default_rng(0).normal(size=(5, 20_000)))
    tracemalloc.start()
    found = usual(SimpleNamespace(steps=[("scale", scaler), ("model", deep)]))[1]
    assert tracemalloc.get_traced_memory()[1] < 50e6
    tracemalloc.stop()
    np.testing.assert_allclose(found, scaler.scale_)


def test_columns_without_names_are_called_alike(digits):
    drawn = wc.plots.reconstructions(digits, DIGITS, rows=[3]).axes[0]
    names = {label.get_text() for label in drawn.get_xticklabels()}
    assert names <= set(wc.explain(digits, DIGITS).feature_names)


# --- what is refused --------------------------------------------------------------------------------

PLOTS = [
    wc.plots.reconstructions,
    wc.plots.spaces,
    wc.plots.traversal,
    partial(wc.plots.used_and_ignored, row=0),
]


@pytest.mark.parametrize("draw", PLOTS)
def test_wrong_input(draw, synth):
    for model in (
        KMeans(2, n_init=1, random_state=0).fit(POINTS),
        make_pipeline(KMeans(2)),
        None,
        ACeDeC,
        POINTS,
    ):
        with pytest.raises(TypeError, match=r"has no cluster space and shared space .* expected a fitted"):
            draw(model, POINTS)
    with pytest.raises(ValueError, match="X"):
        draw(synth[-1], POINTS[:, :3])
    with pytest.raises(ValueError, match="rainfall"):
        draw(synth, TABLE.drop(columns="rainfall"))


def test_rows_out_of_range(synth):
    for rows in ([240], [-241], [0.5], [[1, 2]], True, None, []):
        if rows is not None:
            with pytest.raises(ValueError, match="expected positions from 0 to 239, or labels"):
                wc.plots.reconstructions(synth, TABLE, rows=rows)
        with pytest.raises(ValueError, match=r"row=.* expected positions from 0 to 239, or labels"):
            wc.plots.used_and_ignored(synth, TABLE, rows)
    with pytest.raises(ValueError, match=r"row=\[1, 2\] stands for 2 rows, expected a single one"):
        wc.plots.used_and_ignored(synth, TABLE, [1, 2])
    with pytest.raises(KeyError, match="no row 'a' in"):
        wc.plots.reconstructions(synth, TABLE, rows=["a"])
    with pytest.raises(ValueError, match="does not fit rows of 5 columns"):
        wc.plots.reconstructions(synth, TABLE, image_shape=(2, 2))


def test_other_shared_spaces_are_named():
    """SubKMeans has one, but nothing that was learned with a decoder: its directions are told."""
    model = make_pipeline(StandardScaler(), SubKMeans(4, n_init=1, random_state=0)).fit(POINTS)
    for ask in (wc.plots.spaces, partial(wc.explain, space="shared")):
        with pytest.raises(TypeError, match=r"SubKMeans has .*ACeDeC.*rotation_\[:, model.n_components_:\]"):
            ask(model, POINTS)


def test_steps_that_cannot_be_undone():
    model = fitted(np.abs(POINTS) + 1.0, 4, [Normalizer()])
    X = np.abs(POINTS) + 1.0
    for draw in (wc.plots.reconstructions, wc.plots.traversal):
        with pytest.raises(TypeError, match="Normalizer cannot be undone"):
            draw(model, X)
    assert len(drawn_points(wc.plots.spaces(model, X).axes[0])) == 240  # has no rows to be undone


# --- the share of shared dimensions, and the report -------------------------------------------------


def literal_share(model, X, beta_of=None):
    """Σ_k α_k (p − m_k) ⊙ 2 (μ_c − μ_k) in p = β_cs ⊙ Vᵀz, one row and one competitor at a time."""
    centers = model.cluster_centers_.astype(float)

    def compared(rows):
        with torch.no_grad():
            z = model.model_.encoder(torch.tensor(np.asarray(rows, dtype=np.float32))).numpy().astype(float)
        points = (z @ model.rotation_) * model.cluster_weights_
        own = [int(((centers - p) ** 2).sum(axis=1).argmin()) for p in points]
        others = [[k for k in range(len(centers)) if k != c] for c in own]
        h = [
            np.array([((p - centers[k]) ** 2).sum() - ((p - centers[c]) ** 2).sum() for k in rest])
            for p, c, rest in zip(points, own, others, strict=True)
        ]
        return points, own, others, h

    beta = 1.0 / np.mean([one.min() for one in compared(X if beta_of is None else beta_of)[-1]])
    sizes = np.zeros(len(model.cluster_weights_))
    for p, c, rest, one in zip(*compared(X), strict=True):
        share = np.exp(-beta * (one - one.min()))
        share /= share.sum()
        alpha = share * one.min() / (share @ one)
        relevance = sum(
            a * (p - (centers[c] + centers[k]) / 2) * 2 * (centers[c] - centers[k])
            for a, k in zip(alpha, rest, strict=True)
        )
        sizes += np.abs(relevance)
    return sizes[model.shared_dims_].sum() / sizes.sum()


def test_the_share_of_shared_dimensions_literally(synth, digits):
    for model, X in ((synth[-1], synth[:-1].transform(TABLE)[:40]), (digits, DIGITS[:40])):
        expected = literal_share(model, X)
        assert model.shared_share(X) == pytest.approx(expected, abs=1e-5)
        assert 0 < expected < 1
    assert digits.hardened(DIGITS).shared_share(DIGITS) == 0.0


def test_the_share_of_some_rows_goes_by_the_stiffness_of_all(digits):
    margins = wc.explain(digits, DIGITS).evidence
    few = np.argsort(margins)[:20]  # of rows near borders the mean margin is another
    expected = literal_share(digits, DIGITS[few], beta_of=DIGITS)
    assert share_of_shared(wc.explain(digits, DIGITS)[few]) == pytest.approx(expected, abs=1e-5)
    assert abs(expected - literal_share(digits, DIGITS[few])) > 1e-3


def test_explanations_know_the_spaces_they_came_from(synth, digits):
    ex = wc.explain(synth, TABLE)
    assert share_of_shared(ex) == pytest.approx(synth[-1].shared_share(synth[:-1].transform(TABLE)), abs=1e-6)
    found = wc.explain(digits, DIGITS)
    assert share_of_shared(found) == pytest.approx(digits.shared_share(DIGITS), abs=1e-6)
    shared = wc.explain(synth, TABLE, space="shared")
    np.testing.assert_allclose(ignored(ex).values, shared.values)
    np.testing.assert_allclose(ignored(ex[10:20]).values, shared.values[10:20])
    grouped = wc.explain(synth, TABLE, groups={"both": ["income", "age"]})
    np.testing.assert_allclose(ignored(grouped).values[:, 0], shared.values[:, :2].sum(axis=1))
    assert wc.explain(KMeans(2, n_init=1, random_state=0).fit(POINTS), POINTS).origin.options["model"] is None
    with pytest.raises(ValueError, match="knows no ACe/DeC"):
        ignored(wc.explain(KMeans(2, n_init=1, random_state=0).fit(POINTS), POINTS))


def test_what_is_ignored_is_found_block_by_block(digits, monkeypatch):
    ex = wc.explain(digits, DIGITS[:20])
    whole = ignored(ex)
    monkeypatch.setattr("whyclust.explaining.ignored._AT_ONCE", 7)
    parts = ignored(ex)
    for name in ("values", "base_values", "evidence"):
        np.testing.assert_allclose(getattr(parts, name), getattr(whole, name), rtol=1e-5, atol=1e-6)


def test_nothing_is_ignored_of_columns_at_their_means(digits):
    rows = DIGITS[:6].astype(float)
    means = digits.feature_means_
    rows[:, :32] = means[:32]
    rows[5] = means
    found = wc.explain(digits, rows, space="shared")
    assert np.abs(found.values[:, :32]).max() == 0.0
    assert np.abs(found.values[:5]).max() > 0.0
    assert np.abs(found.values[5]).max() == 0.0
    np.testing.assert_allclose(found.base_values[5], found.evidence[5])


def test_a_later_fit_does_not_change_what_an_explanation_tells():
    model = fitted(POINTS, 4)
    ex = wc.explain(model, POINTS)
    before = told_of(ex)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The spaces have collapsed")
        model.fit(POINTS[:, ::-1])
    assert told_of(ex) == before


def test_the_report_tells_what_is_used_and_what_is_ignored(synth, tmp_path):
    ex = wc.explain(synth, TABLE)
    page = ex.to_html(tmp_path / "page.html").read_text()
    section = page.split("What the clusters use, and what they ignore</h2>")[1].split("</section>")[0]
    deep = synth[-1]
    assert f"{len(deep.cluster_dims_)} belong to the cluster space" in section
    assert f"{len(deep.shared_dims_)} to the shared space" in section
    assert f"{share_of_shared(ex):.0%} is in shared dimensions" in section
    rest = wc.explain(synth, TABLE, space="shared")
    rows = re.findall(
        r"<tr><th scope=\"row\">(\d)</th><td class=\"name\">(.*?)</td><td.*?>(.*?)</td>", section
    )
    assert [int(row[0]) for row in rows] == [0, 1, 2, 3]
    for cluster, uses, ignores in rows:
        for words, source in ((uses, ex), (ignores, rest)):
            means = np.abs(source.values[source.assigned == int(cluster)].mean(axis=0))
            top = np.argsort(-means, kind="stable")
            first = f"{NAMES[top[0]]} ({means[top[0]] / means.sum():.0%})"
            assert words.strip().startswith(first)
    assert section.count('class="track"') == len(deep.cluster_weights_)


def test_a_column_has_one_share_on_the_page(synth):
    ex = wc.explain(synth, TABLE)
    for source, side in ((ex, "uses"), (wc.explain(synth, TABLE, space="shared"), "ignores")):
        for one in told_of(ex)["clusters"]:
            features = source.summary()[one["cluster"]].features.set_index("feature")["fraction"]
            for column in one[side]:
                assert column["share"] == pytest.approx(features[column["name"]])


def test_columns_against_a_cluster_are_told_from_those_for_it(synth):
    ex = wc.explain(synth, TABLE)
    told = told_of(ex)["clusters"]
    for one in told:
        means = ex.values[ex.assigned == one["cluster"]].mean(axis=0)
        for column in one["uses"]:
            assert column["negative"] == (means[NAMES.index(column["name"])] < 0)
    assert {column["negative"] for one in told for column in one["uses"]} == {True, False}


@pytest.mark.parametrize(
    ("weights", "said"),
    [(ALL_CLUSTER, "in the cluster space, so"), (ALL_SHARED, "in the shared space, so")],
)
def test_the_report_of_spaces_that_collapsed_lists_nothing(synth, tmp_path, weights, said):
    """Used and ignored would be the same columns: the page says that the spaces are not apart."""
    collapsed = copy.deepcopy(synth)
    weigh(collapsed[-1], weights, collapsed[:-1].transform(TABLE))
    ex = wc.explain(collapsed, TABLE)
    page = ex.to_html(tmp_path / "page.html").read_text()
    section = page.split("What the clusters use, and what they ignore</h2>")[1].split("</section>")[0]
    assert f"The spaces have collapsed: all 5 dimensions of the embedding are {said}" in section
    assert "ignores most" not in section
    for one in read(page)[0]["clusters"]:
        shown = one["model"]["spaces"]
        assert shown["collapsed"]
        assert said in shown["doubt"]
        assert not (shown["uses"] or shown["ignores"] or shown["picture"])


def test_what_is_ignored_is_not_compared_between_clusters(synth):
    ex = wc.explain(synth, TABLE, space="shared")
    for one in ex.summary():
        for feature in cluster_values(ex, one)["features"]:
            assert (feature["direction"], feature["against"], feature["there"]) == ("", None, None)
    for told in (repr(ex.summary()), ex.summary()._repr_html_()):
        assert not re.search("above|below|between|similar", told)


def test_the_report_of_what_is_ignored_claims_no_reasons(synth, tmp_path):
    ex = wc.explain(synth, TABLE, space="shared")
    page = ex.to_html(tmp_path / "page.html").read_text()
    assert "<h1>What do these clusters ignore?</h1>" in page
    assert "<h3>What is ignored of its rows</h3>" in page
    assert "<h3>Rows of which least is ignored</h3>" in page
    assert "mean of what is ignored" in page
    least = ex.summary()[0].borderline[0]
    assert f'{least}</strong> <span class="quiet">ignored: {ex.evidence[least]:.4g}</span>' in page
    assert "it is no reason for a cluster" in page
    # Words that are right for what clusters use.
    for word in ("Why", "vidence", "next:", "orderline", "competi", "speaks for"):
        assert word not in page.split("<script")[0].split("</style>")[1], word
    own = ex.to_html(tmp_path / "page.html", title="Mine").read_text()
    assert "<h1>Mine</h1>" in own


def test_pictures_of_what_is_ignored_are_called_so(digits, tmp_path):
    ex = wc.explain(digits, DIGITS.reshape(-1, 8, 8)[:40], space="shared")
    page = ex.to_html(tmp_path / "page.html").read_text()
    assert "least ignored: row" in page
    assert "borderline: row" not in page


def test_the_summary_of_what_is_ignored_says_so(synth, tmp_path):
    ex = wc.explain(synth, TABLE, space="shared")
    for one in (ex, wc.load(ex.save(tmp_path / "ex.npz"))):
        lines = repr(one.summary()).splitlines()
        assert [line.split(":")[0] for line in lines] == [f"ignored in cluster {k}" for k in range(4)]
        head = one.summary()._repr_html_().split("</tr>")[0]
        assert re.search("<th[^>]*>ignored</th><th[^>]*>mainly in</th>", head)
        assert "evidence" not in head
    used = wc.explain(synth, TABLE).summary()
    assert repr(used).startswith("cluster 0 '")
    assert re.search("<th[^>]*>evidence</th><th[^>]*>set apart by</th>", used._repr_html_())


def test_sections_where_there_is_nothing_to_tell(synth, tmp_path):
    heading = "What the clusters use, and what they ignore"
    plain = wc.explain(KMeans(2, n_init=1, random_state=0).fit(POINTS), POINTS)
    loaded = wc.load(wc.explain(synth, TABLE).save(tmp_path / "ex.npz"))
    for ex in (plain, loaded, wc.explain(synth, TABLE, space="shared")):
        assert heading not in ex.to_html(tmp_path / "page.html").read_text()
    asked = wc.explain(synth, TABLE, cluster=1).to_html(tmp_path / "page.html").read_text()
    assert heading in asked
    assert "uses most" not in asked


def test_the_report_shows_images_of_what_is_ignored(ten, tmp_path):
    page = wc.explain(ten, DIGITS.reshape(-1, 8, 8)).to_html(tmp_path / "page.html").read_text()
    used, section = page.split("What each cluster ignores</h3>")
    section = section.split("</section>")[0]
    assert used.split("What each cluster uses</h3>")[1].count("<figure>") == 8
    assert section.count("<figure>") == 8
    assert "The 8 largest clusters are shown; 2 others are not." in section


# --- which point, side, direction and cluster it is ---------------------------------------------------


def rows_of(drawn, coordinates):
    """The row of each point that is drawn, told by a coordinate in which all rows differ."""
    found = np.empty(len(drawn), dtype=int)
    found[np.argsort(drawn)] = np.argsort(coordinates)
    np.testing.assert_allclose(drawn, coordinates[found], atol=1e-5)
    return found


def percent(pattern, told):
    """The number in a sentence, which was rounded."""
    return float(re.fullmatch(pattern, told)[1])


def beside_ways(figure):
    """The axes on which a traversal draws rows and crosses."""
    return next(axis for axis in figure.axes if axis.get_ylabel().startswith("cluster space"))


def labels_by_colour(axis):
    """What the legend calls each point."""
    (legend,) = axis.figure.legends
    known = {
        matplotlib.colors.to_rgb(handle.get_color()): text.get_text()
        for handle, text in zip(legend.legend_handles, legend.get_texts(), strict=True)
    }
    (points,) = axis.collections
    return np.array([known[tuple(colour[:3])] for colour in points.get_facecolors()])


def test_points_have_the_colour_of_their_own_label(synth):
    deep = synth[-1]
    turned = deep.turned(synth[:-1].transform(TABLE))
    given = np.array([f"kind {kind}" for kind in KINDS])
    left, right, _ = wc.plots.spaces(synth, TABLE, labels=given).axes
    rows = rows_of(drawn_points(left)[:, 0], turned[:, deep.cluster_dims_[0]])
    assert (labels_by_colour(left) == given[rows]).all()
    assert (labels_by_colour(right) == given[rows]).all()  # which has them in the same order
    beside = beside_ways(wc.plots.traversal(synth, TABLE, labels=given))
    rows = rows_of(drawn_points(beside)[:, 1], turned[:, deep.cluster_dims_[0]])
    assert (labels_by_colour(beside) == given[rows]).all()


@pytest.fixture(scope="module")
def stretched(synth):
    """Rows vary three times as much in one of three shared dimensions."""
    whole = copy.deepcopy(synth)
    deep = whole[-1]
    deep.model_.space.turn.weight.data[:, 3] *= 3.0
    turned = deep.turned(whole[:-1].transform(TABLE)).astype(float)
    deep.turned_mean_, deep.turned_covariance_ = turned.mean(axis=0), np.cov(turned.T, bias=True)
    assert sorted(deep.shared_dims_) == [1, 3, 4]
    return whole, turned


def test_directions_have_their_share_of_the_variance(stretched):
    model, turned = stretched
    right = wc.plots.spaces(model, TABLE).axes[1]
    shares = drawn_points(right).var(axis=0) / turned[:, [1, 3, 4]].var(axis=0).sum()
    assert shares[0] > 0.6
    for number, told in enumerate((right.get_xlabel(), right.get_ylabel())):
        found = percent(rf"direction {number + 1} \((\d+)% of its variance\)", told)
        assert found == pytest.approx(100 * shares[number], abs=0.51)


def test_the_way_along_another_direction(stretched):
    """Points, crosses and words are all of the direction that was asked for."""
    model, turned = stretched
    asked = {"component": 1, "clusters": [0, 1], "steps": 3, "extent": 1.5}
    beside = beside_ways(wc.plots.traversal(model, TABLE, **asked))
    shared = turned[:, [1, 3, 4]] - turned[:, [1, 3, 4]].mean(axis=0)
    direction = np.linalg.svd(shared, full_matrices=False)[2][1]
    points, dim = drawn_points(beside), int(np.argmax(model[-1].cluster_weights_))
    expected = shared[rows_of(points[:, 1], turned[:, dim])] @ direction
    np.testing.assert_allclose(points[:, 0], expected * np.sign(expected @ points[:, 0]), atol=1e-4)
    assert len(beside.lines) == 4  # black on white, of two clusters
    for crosses in beside.lines:
        steps = np.diff(crosses.get_xdata())
        np.testing.assert_allclose(steps, 1.5 * expected.std(), rtol=1e-4)
    share = expected.var() / shared.var(axis=0).sum()
    found = percent(r"shared space: direction 2 \((\d+)% of its variance\)", beside.get_xlabel())
    assert found == pytest.approx(100 * share, abs=0.51)


@pytest.mark.parametrize(
    ("name", "sizes", "largest"),
    [("synth", [90, 20, 70, 60], [0, 2, 3]), ("ten", [9, 80, 8, 70, 7, 60, 6, 50, 5, 5], [0, 1, 3, 5, 7])],
)
def test_the_largest_clusters_are_followed(request, name, sizes, largest):
    model = copy.deepcopy(request.getfixturevalue(name))
    X = TABLE if name == "synth" else DIGITS
    deep = model[-1] if name == "synth" else model
    deep.labels_ = np.repeat(np.arange(len(sizes)), sizes)
    figure = wc.plots.traversal(model, X, steps=2, image_shape=None if name == "synth" else (8, 8))
    assert sorted(text.get_text() for text in beside_ways(figure).texts) == [
        f"cluster {cluster}" for cluster in largest
    ]


def test_bars_of_weights_are_in_the_colour_of_their_space(synth):
    """Weights of 0.95, 0.9 | 0.53, 0.51 and 0.5: above 0.55 is the cluster space."""
    bars = wc.plots.spaces(synth, TABLE).axes[2]
    (border,) = bars.lines
    np.testing.assert_allclose(border.get_ydata(), 0.55)
    found = {part.get_label(): [bar.get_height() for bar in part] for part in bars.containers}
    assert set(found) == {"cluster space", "shared space"}
    np.testing.assert_allclose(found["cluster space"], [0.95, 0.9], rtol=1e-6)
    np.testing.assert_allclose(found["shared space"], [0.53, 0.51, 0.5], rtol=1e-6)


@pytest.fixture(scope="module")
def both_sides(digits):
    """Shares of the relevance of 20 rows, by the title of the side."""
    values = [wc.explain(digits, DIGITS, space=space).values[:20] for space in ("cluster", "shared")]
    shares = [one / np.abs(one).sum(axis=1, keepdims=True) for one in values]
    return dict(zip(("What the clustering uses", "What it ignores"), shares, strict=True))


def test_columns_that_are_large_on_one_side_are_drawn(digits, both_sides):
    """And not those of the largest sum; bars are of the side above them."""
    sizes = np.abs(list(both_sides.values()))
    order, summed = (np.argsort(-one, axis=1)[:, :12] for one in (sizes.max(axis=0), sizes.sum(axis=0)))
    row = next(row for row in range(20) if set(order[row]) != set(summed[row]))
    figure = wc.plots.used_and_ignored(digits, DIGITS, row)
    assert [axis.get_title() for axis in figure.axes] == list(both_sides)
    for axis in figure.axes:
        expected = both_sides[axis.get_title()][row, order[row]]
        np.testing.assert_allclose([bar.get_width() for bar in axis.patches], expected, atol=1e-5)
        found = percent(r".*\(drawn: (\d+)% of it\)", axis.get_xlabel())
        assert found == pytest.approx(100 * np.abs(expected).sum(), abs=0.51)


def test_both_heat_maps_have_the_colours_of_the_larger_one(digits, both_sides):
    largest = np.abs(list(both_sides.values())).max(axis=2)
    for side in (0, 1):
        row = int(np.argmax(largest[side] - largest[1 - side]))
        assert largest[side, row] > 1.1 * largest[1 - side, row]
        maps = wc.plots.used_and_ignored(digits, DIGITS, row, image_shape=(8, 8)).axes[1:3]
        assert [axis.get_title() for axis in maps] == list(both_sides)
        for axis in maps:
            drawn = axis.images[0]
            np.testing.assert_allclose(
                drawn.get_array().ravel(), both_sides[axis.get_title()][row], atol=1e-5
            )
            limits = [-largest[side, row], largest[side, row]]
            np.testing.assert_allclose(drawn.get_clim(), limits, rtol=1e-4)
