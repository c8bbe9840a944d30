"""Pictures of the explanation of a table: what is drawn, in which colours, and that sums are kept."""

import os
import subprocess
import sys
from dataclasses import replace
from inspect import signature

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_wine, make_blobs
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import whyclust as wc
from whyclust.explaining import Question
from whyclust.explaining.plane import places_in_plane

pytest.importorskip("matplotlib", reason="needs matplotlib")

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure

from whyclust.plots.drawing import AGAINST, FOR

WINE = load_wine(as_frame=True).data


@pytest.fixture(scope="module")
def wine():
    model = make_pipeline(StandardScaler(), KMeans(3, n_init=1, random_state=0)).fit(WINE)
    return wc.explain(model, WINE).with_names({1: "light wines"})


@pytest.fixture(scope="module")
def wide():
    X, _ = make_blobs(60, centers=4, n_features=5000, cluster_std=8.0, random_state=0)
    frame = pd.DataFrame(X, columns=[f"gene {place}" for place in range(5000)])
    return wc.explain(KMeans(4, n_init=1, random_state=0).fit(frame), frame)


@pytest.fixture(scope="module")
def many():
    X, _ = make_blobs(600, centers=50, n_features=8, random_state=0)
    return wc.explain(KMeans(50, n_init=1, random_state=0).fit(X), X, feature_names=list("abcdefgh"))


def names(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


def bars(ax):
    """Length of each bar by the name of its line."""
    told = names(ax)
    return {told[round(one.get_y() + one.get_height() / 2)]: one.get_width() for one in ax.patches}


def pixels(ax):
    """The picture as it is drawn."""
    canvas = FigureCanvasAgg(ax.figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3]


def same_colours(ax):
    for one in ax.patches:
        if one.get_width():
            assert to_hex(one.get_facecolor()) == (FOR if one.get_width() > 0 else AGAINST)


# --- bar --------------------------------------------------------------------------------------------


def test_bars_of_a_cluster_sum_to_its_evidence(wine):
    ax = wine.plot.bar(cluster=1, top=4)
    assert ax.get_title() == f"What speaks for cluster 1 'light wines' ({(wine.clusters == 1).sum()} rows)"
    means = wine.values[wine.clusters == 1].mean(axis=0)
    order = np.argsort(-np.abs(means))
    drawn = bars(ax)
    assert list(drawn) == [*(wine.feature_names[column] for column in order[:4]), "9 other columns, summed"]
    np.testing.assert_allclose(list(drawn.values())[:4], means[order[:4]], atol=1e-12)
    assert abs(sum(drawn.values()) - wine.explained[wine.clusters == 1].mean()) < 1e-10
    same_colours(ax)


def test_bars_for_and_against_have_their_colours(wine):
    turned = wine[wine.clusters == 0].ask(cluster=2)  # where the rows are not: most columns speak against
    ax = turned.plot.bar(top=20)
    assert {one.get_width() > 0 for one in ax.patches} == {True, False}
    same_colours(ax)
    assert len(ax.patches) == 13
    assert "red speaks for the cluster, blue against it" in ax.get_xlabel()


def test_as_much_red_and_blue_is_seen_as_speaks_for_and_against(wine):
    """The picture itself, pixel by pixel: areas of both colours are as the sums of both signs."""
    ax = wine[wine.clusters == 0].ask(cluster=2).plot.bar(top=20)
    ax.figure.set_dpi(200)
    seen = pixels(ax).reshape(-1, 3)
    red, blue = ((seen == np.rint(255 * np.array(to_rgb(one)))).all(axis=1).sum() for one in (FOR, AGAINST))
    widths = np.array([one.get_width() for one in ax.patches])
    assert red / blue == pytest.approx(widths[widths > 0].sum() / -widths[widths < 0].sum(), rel=0.05)


def test_bars_of_all_clusters(wine, many):
    ax = wine.plot.bar()
    assert [name for name in names(ax) if "Cluster" in name] == [
        f"Cluster {wine.short_name(one)} ({(wine.clusters == one).sum()} rows)" for one in range(3)
    ]
    assert len(ax.patches) == 3 * 6
    assert abs(sum(one.get_width() for one in ax.patches) - sum(_means(wine))) < 1e-10
    assert many.plot.bar().get_title() == "What speaks for each cluster: the 6 largest of 50 clusters"
    assert len(many.plot.bar(cluster=[3, "7"], top=2).patches) == 2 * 3


def _means(ex):
    return [ex.explained[ex.clusters == one].mean() for one in np.unique(ex.clusters)]


def test_bars_of_thousands_of_columns_stay_readable(wide):
    ax = wide.plot.bar(cluster=2)
    drawn = bars(ax)
    assert len(drawn) == 11
    rest = drawn.pop("4,990 other columns, summed")
    assert abs(rest + sum(drawn.values()) - wide.explained[wide.clusters == 2].mean()) < 1e-6 * rest
    assert max(drawn.values()) > 0.5 * ax.get_xlim()[1]  # the sum runs out of the picture, and says so
    assert any(text.get_text().endswith("→") for text in ax.texts)


def test_bars_of_scores_that_know_no_clusters_speak_for_none():
    model = make_pipeline(StandardScaler(), KMeans(3, n_init=1, random_state=0)).fit(WINE)
    ex = wc.explain(model, WINE, method="random")
    assert ex.plot.bar().get_title() == "Random score in each cluster"
    assert ex.plot.dots().get_title() == "Random score in each cluster"
    assert ex.plot.beeswarm().get_title() == "Random score in 178 rows, column by column"
    assert ex.plot.waterfall(row=3).get_title() == f"Random score: row 3, in cluster {ex.clusters[3]}"


def test_what_bar_refuses(wine):
    with pytest.raises(ValueError, match="cluster=9, expected one that is explained: 0, 1, 2"):
        wine.plot.bar(cluster=9)
    with pytest.raises(ValueError, match="top=0"):
        wine.plot.bar(top=0)
    with pytest.raises(TypeError, match="ndarray was given, expected an explanation"):
        wc.plots.bar(np.ones((3, 2)))
    with pytest.raises(TypeError, match="ax is a str, expected matplotlib axes"):
        wine.plot.bar(ax="here")


# --- waterfall --------------------------------------------------------------------------------------


def test_a_waterfall_ends_at_the_evidence(wine):
    ax = wine.plot.waterfall(row=5, top=6)
    *steps, total = ax.patches
    assert len(steps) == 7
    assert steps[0].get_x() == 0.0
    ends = [step.get_x() + step.get_width() for step in steps]
    np.testing.assert_allclose([step.get_x() for step in steps[1:]], ends[:-1], atol=1e-12)
    assert abs(ends[-1] - wine.explained[5]) < 1e-10
    assert abs(total.get_width() - wine.explained[5]) < 1e-10
    column = int(np.abs(wine.values[5]).argmax())
    assert names(ax)[0].startswith(f"{wine.feature_names[column]} = ")
    assert names(ax)[-2:] == ["7 other columns, summed", "sum"]
    assert ax.get_title().startswith(f"Why row 5 is in {wine.named(wine.clusters[5])}; its strongest")


def test_a_waterfall_against_one_competitor(wine):
    row = int(np.flatnonzero(wine.clusters == 0)[0])
    ax = wine.plot.waterfall(row=row, against=1)
    asked = wine[row].ask(cluster=0, against=1)
    assert abs(ax.patches[-1].get_width() - asked.explained[0]) < 1e-10
    assert ax.get_title() == f"Why row {row} is in cluster 0 and not in cluster 1 'light wines'"
    lost = wine[row].ask(cluster=1, against=0).plot.waterfall()
    assert lost.get_title() == f"Why row {row} is not in cluster 1 'light wines' but in cluster 0"
    same_colours_of = [one for one in lost.patches[:-1] if one.get_width() < 0]
    assert {to_hex(one.get_facecolor()) for one in same_colours_of} == {AGAINST}


def test_which_row_falls(wine, wide):
    with pytest.raises(ValueError, match="has 178 rows, expected to be told which"):
        wine.plot.waterfall()
    with pytest.raises(ValueError, match="row=178, expected positions from 0 to 177"):
        wine.plot.waterfall(row=178)
    assert len(wide[3].plot.waterfall().patches) == 12


def test_rows_fall_by_name_and_counted_from_the_end(wine):
    named = replace(wine, index=np.array([f"w{row}" for row in range(178)]))
    ends = named.plot.waterfall(row="w3").get_title(), named.plot.waterfall(row=-1).get_title()
    assert [title.split(" is in")[0] for title in ends] == ["Why row w3", "Why row w177"]
    with pytest.raises(KeyError, match="no row 'w200' in this explanation"):
        named.plot.waterfall(row="w200")
    with pytest.raises(ValueError, match=r"stands for 2 rows, expected a single one"):
        named.plot.waterfall(row=["w3", "w4"])


def test_what_is_said_below_a_waterfall_is_not_cut_off(wine):
    long = replace(wine, feature_names=[f"{name}, a name that is long" for name in wine.feature_names])
    for one in (long, replace(long, question=Question("ignored"))):
        ax = one.plot.waterfall(row=3)
        FigureCanvasAgg(ax.figure).draw()
        box = ax.xaxis.label.get_window_extent()
        assert box.x0 >= 0
        assert box.x1 <= ax.figure.bbox.width


# --- beeswarm ---------------------------------------------------------------------------------------


def swarms(ax):
    """Places of the points along the axis, line by line: grey ones, then those with a colour."""
    found = [np.asarray(one.get_offsets()).reshape(-1, 2)[:, 0] for one in ax.collections]
    return [np.concatenate(pair) for pair in zip(found[::2], found[1::2], strict=True)]


def test_a_swarm_has_every_row_and_keeps_the_sum(wine):
    ax = wine.plot.beeswarm(top=5)
    lines = swarms(ax)
    assert [len(line) for line in lines] == [178] * 6
    assert abs(sum(line.sum() for line in lines) - wine.values.sum()) < 1e-9
    order = np.argsort(-np.abs(wine.values).mean(axis=0), kind="stable")[:5]
    assert names(ax) == [*(wine.feature_names[column] for column in order), "8 other columns, summed"]
    np.testing.assert_allclose(np.sort(lines[0]), np.sort(wine.values[:, order[0]]), atol=1e-12)
    own = ax.collections[1]  # high values are yellow, low ones dark
    ranks = wine.data[wine.feature_names[order[0]]].rank(pct=True)
    assert np.corrcoef(own.get_array(), ranks)[0, 1] > 0.999
    places = np.asarray(own.get_offsets())
    assert len(np.unique(places, axis=0)) == 178  # none hides another
    assert np.abs(places[:, 1]).max() < 0.5


def test_a_swarm_of_one_cluster(wine):
    ax = wine.plot.beeswarm(cluster=1)
    assert (
        ax.get_title()
        == f"How the columns of {(wine.clusters == 1).sum()} rows speak for cluster 1 'light wines'"
    )
    with pytest.raises(ValueError, match="expected one cluster"):
        wine.plot.beeswarm(cluster=[0, 1])


def test_a_swarm_of_categories_and_gaps():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.normal(size=90), "city": np.resize(["Rome", "Oslo", "Bonn"], 90)})
    table.loc[::2, "age"] += 8.0
    ex = wc.explain((table["age"] > 4).astype(int), table)
    ax = ex.plot.beeswarm()
    grey = {name: len(one.get_offsets()) for name, one in zip(names(ax), ax.collections[::2], strict=True)}
    assert grey["city"] == 90
    assert grey["age"] == 0
    assert "city = " in str(names(ex.plot.waterfall(row=0)))


def test_missing_values_have_no_colour():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 2)), columns=["a", "b"])
    X.loc[5, "a"] = np.nan
    ex = wc.explain(make_pipeline(SimpleImputer(), KMeans(2, n_init=1, random_state=0)).fit(X), X)
    ax = ex.plot.beeswarm()
    assert [len(one.get_offsets()) for one in ax.collections[::2]] == [int(name == "a") for name in names(ax)]
    assert "a = missing" in names(ex.plot.waterfall(row=5))


def test_a_sum_outside_of_the_swarm_is_told(wide):
    (told,) = [text.get_text() for text in wide.plot.beeswarm().texts]
    kept = np.argsort(-np.abs(wide.values).mean(axis=0), kind="stable")[:10]
    rest = wide.values.sum(axis=1) - wide.values[:, kept].sum(axis=1)
    assert told == (
        f"outside of the picture: from {rest.min():,.0f} to {rest.max():,.0f}, mean {rest.mean():,.0f}"
    )


def test_many_rows_are_drawn_in_part_and_it_says_so():
    X = np.random.default_rng(0).normal(size=(1500, 3))
    ex = wc.explain(KMeans(2, n_init=1, random_state=0).fit(X), X)
    ax = ex.plot.beeswarm()
    assert "1,500 rows (1,000 drawn, at random)" in ax.get_title()
    assert [len(line) for line in swarms(ax)] == [1000] * 3


def test_sparse_tables_are_drawn_like_dense_ones():
    import scipy.sparse as sp

    X = np.random.default_rng(0).poisson(0.4, size=(80, 30)).astype(float)
    model = KMeans(3, n_init=1, random_state=0).fit(X)
    dense, sparse = wc.explain(model, X), wc.explain(model, sp.csr_matrix(X))
    for name in DRAWN:
        first, second = (getattr(ex.plot, name)(**asked(ex, name)) for ex in (dense, sparse))
        assert names(first) == names(second)
        assert [one.get_text() for one in first.texts] == [one.get_text() for one in second.texts]


# --- dots -------------------------------------------------------------------------------------------


def test_dots_are_shares(wine, wide):
    ax = wine.plot.dots(top=20)
    means = np.stack([wine.values[wine.clusters == one].mean(axis=0) for one in range(3)])
    shares = means / np.abs(means).sum(axis=1, keepdims=True)
    columns = [wine.feature_names.index(label.get_text()) for label in ax.get_xticklabels()]
    sizes = ax.collections[0].get_sizes().reshape(3, 13)
    np.testing.assert_allclose(
        sizes / sizes.max(), np.abs(shares[:, columns]) / np.abs(shares).max(), atol=1e-9
    )
    colours = [to_hex(one[:3]) for one in ax.collections[0].get_facecolors()]
    assert colours == [FOR if share > 0 else AGAINST for share in shares[:, columns].ravel()]
    assert names(ax) == ["cluster 0", "cluster 1 'light wines'", "cluster 2"]
    rest = wide.plot.dots()
    assert rest.get_xticklabels()[-1].get_text() == "4,980 other columns, summed"
    assert all(text.get_text().endswith("%") for text in rest.texts)


# --- duel -------------------------------------------------------------------------------------------


def test_a_duel_shows_both_sides(wine):
    ax = wine.plot.duel(0, 1, top=3)
    assert ax.get_title() == "What separates cluster 0 from cluster 1 'light wines'"
    assert len(ax.patches) == 2 * 4
    for own, rival, side, sign in ((0, 1, ax.patches[::2], 1.0), (1, 0, ax.patches[1::2], -1.0)):
        asked = wine[wine.labels == own].ask(cluster=own, against=rival)
        assert abs(sign * sum(one.get_width() for one in side) - asked.explained.mean()) < 1e-10
    same_colours(ax)
    told = {text.get_text(): text.get_color() for text in ax.texts}
    assert told["for cluster 0 →"] == FOR
    assert told["← for cluster 1 'light wines'"] == AGAINST


def test_duels_that_cannot_be(wine, tmp_path):
    with pytest.raises(ValueError, match="expected two clusters"):
        wine.plot.duel(1, 1)
    with pytest.raises(ValueError, match="cluster=7, expected one that has rows here: 0, 1, 2"):
        wine.plot.duel(7, 1)
    with pytest.raises(ValueError, match="explain the rows again"):
        wc.load(wine.save(tmp_path / "ex.npz")).plot.duel(0, 1)


def test_sides_of_a_mixture_differ():
    model = GaussianMixture(2, covariance_type="diag", random_state=0).fit(WINE)
    ax = wc.explain(model, WINE).plot.duel(0, 1)
    lengths = np.array([one.get_width() for one in ax.patches])
    assert np.abs(lengths[::2] + lengths[1::2]).max() > 1e-3


# --- heatmap ----------------------------------------------------------------------------------------


def test_a_heatmap_is_ordered_by_cluster_and_evidence(wine):
    ax = wine.plot.heatmap()
    drawn = np.asarray(ax.images[0].get_array())
    columns = [wine.feature_names.index(label.get_text()) for label in ax.get_xticklabels()]
    rows = np.lexsort((-wine.evidence, wine.clusters))
    np.testing.assert_allclose(drawn, wine.values[rows][:, columns], atol=1e-12)
    assert names(ax) == ["cluster 0", "cluster 1 'light wines'", "cluster 2"]
    low, high = ax.images[0].get_clim()
    assert low == -high
    red, blue = ax.images[0].cmap(0.95), ax.images[0].cmap(0.05)
    assert red[0] > red[2] and blue[2] > blue[0]


def test_a_heatmap_keeps_the_sum_of_columns_that_are_not_drawn(wine, wide):
    drawn = np.asarray(wine.plot.heatmap(top=5).images[0].get_array())
    rows = np.lexsort((-wine.evidence, wine.clusters))
    np.testing.assert_allclose(drawn.sum(axis=1), wine.values[rows].sum(axis=1), atol=1e-10)
    ax = wide.plot.heatmap(top=5)
    name = ax.get_xticklabels()[-1].get_text()
    assert name.startswith("4,995 other columns, summed, ÷ ")
    drawn = np.asarray(ax.images[0].get_array())
    total = drawn[:, :-1].sum(axis=1) + drawn[:, -1] * float(name.split("÷ ")[1].replace(",", ""))
    rows = np.lexsort((-wide.evidence, wide.clusters))
    np.testing.assert_allclose(total, wide.values[rows].sum(axis=1), rtol=1e-9)


def test_a_heatmap_of_many_rows():
    X = np.random.default_rng(0).normal(size=(5000, 3))
    ex = wc.explain(KMeans(2, n_init=1, random_state=0).fit(X), X)
    ax = ex.plot.heatmap()
    assert len(ax.images[0].get_array()) == 2000
    assert ax.get_title() == "Relevance, row by row (2,000 of 5,000 rows drawn)"


# --- map --------------------------------------------------------------------------------------------


def points(ax):
    return np.concatenate([np.asarray(one.get_offsets()) for one in ax.collections])


def test_a_map_of_principal_components(wine, wide):
    for ex in (wine, wide):
        ax = ex.plot.map()
        scaled = StandardScaler().fit_transform(ex.data)
        expected = PCA(2, svd_solver="full").fit_transform(scaled)
        np.testing.assert_allclose(
            np.sort(np.abs(points(ax)), axis=0), np.sort(np.abs(expected), axis=0), atol=1e-6
        )
    told = [text.get_text() for text in wine.plot.map().get_legend().get_texts()]
    assert told == ["cluster 0", "cluster 1 'light wines'", "cluster 2"]


def test_a_category_of_many_values_counts_as_one_column_of_a_map():
    """Numbers that go together are the first component, however many values a category beside them has."""
    rng = np.random.default_rng(0)
    size = rng.normal(size=300)
    table = pd.DataFrame({name: size + 0.1 * rng.normal(size=300) for name in "abc"})
    table["zone"] = [f"zone {one}" for one in rng.integers(100, size=300)]
    table["kind"] = np.where(rng.random(300) < 0.5, "x", "y")
    places, names = places_in_plane(wc.explain((size > 0).astype(int), table))
    assert abs(np.corrcoef(places[:, 0], size)[0, 1]) > 0.99
    # Three of five columns, each of a variance of 1.
    assert names[0] in ("principal component 1 (59%)", "principal component 1 (60%)")


def test_a_map_of_a_given_embedding(wine):
    places = WINE[["alcohol", "proline"]]
    ax = wine.plot.map(color="evidence", embedding=places.iloc[::-1])  # matched by the index
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("alcohol", "proline")
    drawn = ax.collections[1]
    offsets = np.asarray(drawn.get_offsets())
    by_place = dict(zip(map(tuple, offsets), drawn.get_array(), strict=True))
    row = places.drop_duplicates(keep=False).index[3]
    assert by_place[tuple(places.loc[row])] == pytest.approx(wine.evidence[row])
    assert ax.get_title() == "178 rows, coloured by evidence"
    with pytest.raises(ValueError, match=r"embedding has shape \(178, 3\), expected \(178, 2\)"):
        wine.plot.map(embedding=np.ones((178, 3)))
    with pytest.raises(ValueError, match="did you mean 'proline'"):
        wine.plot.map(color="prolin")


def test_a_map_coloured_by_columns_of_any_kind():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.normal(size=60), "city": np.resize([f"c{i}" for i in range(10)], 60)})
    ex = wc.explain((table["age"] > 0).astype(int), table)
    told = [text.get_text() for text in ex.plot.map(color="city").get_legend().get_texts()]
    assert told == [*(f"c{i}" for i in range(7)), "3 other values"]
    assert len(points(ex.plot.map(color="age"))) == 60


def test_a_map_of_many_clusters_writes_their_ids(many):
    ax = many.plot.map()
    assert {text.get_text() for text in ax.texts} == {str(one) for one in range(50)}


# --- distribution -----------------------------------------------------------------------------------


def test_boxes_of_a_column(wine):
    ax = wine.plot.distribution("proline")
    assert names(ax) == [f"{wine.named(one)} ({(wine.labels == one).sum()})" for one in range(3)]
    medians = [float(np.median(WINE["proline"][wine.labels == one])) for one in range(3)]
    drawn = [line.get_xdata() for line in ax.lines]
    for place, median in enumerate(medians):
        assert any(len(x) == 2 and np.allclose(x, median) for x in drawn), place
    assert np.allclose(ax.lines[-1].get_xdata(), WINE["proline"].median())
    assert [len(one.get_offsets()) for one in ax.collections] == [
        (wine.labels == one).sum() for one in range(3)
    ]
    assert names(wine.plot.distribution("hue", cluster=2)) == [f"cluster 2 ({(wine.labels == 2).sum()})"]
    with pytest.raises(KeyError, match="did you mean 'proline'"):
        wine.plot.distribution("prolin")


def test_shares_of_categories():
    rng = np.random.default_rng(0)
    city = rng.choice([f"c{i}" for i in range(9)], 200, p=[0.2, 0.2, 0.1, 0.1, 0.1, 0.1, 0.1, 0.06, 0.04])
    table = pd.DataFrame({"age": rng.normal(size=200), "city": city})
    ex = wc.explain((table["age"] > 0).astype(int), table)
    ax = ex.plot.distribution("city")
    for line in range(2):
        own = [one for one in ax.patches if round(one.get_y() + one.get_height() / 2) == line]
        assert abs(sum(one.get_width() for one in own) - 1.0) < 1e-12
        commonest = table["city"].value_counts().index[0]
        assert own[0].get_width() == pytest.approx((table["city"] == commonest)[ex.labels == line].mean())
    assert ax.get_legend().get_texts()[-1].get_text() == "2 other values"


# --- certificate ------------------------------------------------------------------------------------


def test_a_certificate_shows_what_not_to_rely_on(wine):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(150, 2)), columns=["a", "b"])
    labels = np.where(X["a"] > 1.0, 2, rng.integers(0, 2, 150))  # 0 and 1 cannot be told apart
    with pytest.warns(UserWarning, match="The surrogate agrees with"):
        ex = wc.explain(labels, X, names={2: "high"})
    ax = ex.plot.certificate()
    for line, name in zip(ax.lines[:3], ("in_sample", "held_out", "precision"), strict=True):
        np.testing.assert_allclose(line.get_xdata(), getattr(ex.fidelity, name))
    assert names(ax)[2].startswith("cluster 2 'high' (")
    bold = [label.get_fontweight() == "bold" for label in ax.get_yticklabels()]
    assert bold == [one in ex.fidelity.untrusted for one in (0, 1, 2)]
    assert bold[:2] == [True, True]
    assert f"{ex.fidelity.overall_held_out:.1%}" in ax.get_title()
    with pytest.raises(ValueError, match="needs no certificate"):
        wine.plot.certificate()


# --- flipping ---------------------------------------------------------------------------------------


def test_a_curve_of_algorithm_1(wine, wide):
    ax = wine.plot.flipping(n_repeats=2)
    expected = wc.metrics.flipping_auc(wine.origin.network, WINE, wine, n_repeats=2)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), expected.curve, atol=0.03)
    told = [text.get_text() for text in ax.get_legend().get_texts()]
    assert [one.split(":")[0] for one in told] == ["by relevance", "random order"]
    areas = [float(one.split(": ")[1].split()[0]) for one in told]
    assert areas[0] > areas[1] + 3.0
    given = wc.plots.flipping({"neon": expected, "again": expected})
    np.testing.assert_array_equal(given.lines[1].get_ydata(), expected.curve)
    assert wc.plots.flipping(expected).get_title() == "How soon rows are in their cluster"
    with pytest.raises(ValueError, match="expected at most 500 and got 5,000"):
        wide.plot.flipping()
    with pytest.raises(TypeError, match="float was given, expected an explanation, or results"):
        wc.plots.flipping({"neon": 3.0})
    grouped = wc.explain(wine.origin.network, WINE, groups={"acid": ["malic_acid", "ash"]})
    with pytest.raises(ValueError, match="explain without groups="):
        grouped.plot.flipping()
    assert wine[0].plot.flipping(background=WINE).get_title().endswith("(1 row)")
    removed = wc.metrics.flipping_auc(wine.origin.network, WINE[:9], wine[:9], n_repeats=1, order="delete")
    assert wc.plots.flipping(removed).get_xlabel() == "columns removed, the most relevant first"
    with pytest.raises(ValueError, match="draw them apart"):
        wc.plots.flipping({"added": expected, "removed": removed})


# --- history ----------------------------------------------------------------------------------------


def test_a_history_of_phases():
    class Trained:
        history_ = {  # noqa: RUF012
            "autoencoder": {"reconstruction": [3.0, 2.0, 1.5]},
            "clustering": {"reconstruction": [1.4, 1.3], "compactness": [0.01, 0.02]},
        }

    ax = wc.plots.history(make_pipeline(StandardScaler(), Trained()))
    assert [line.get_xdata().tolist() for line in ax.lines if len(line.get_xdata()) > 2] == [[1, 2, 3]]
    assert [line.get_xdata().tolist() for line in ax.lines[1:3]] == [[4, 5], [4, 5]]
    assert ax.lines[0].get_color() == ax.lines[1].get_color() != ax.lines[2].get_color()
    assert ax.get_yscale() == "log"
    assert [text.get_text() for text in ax.texts] == ["autoencoder", "clustering"]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["reconstruction", "compactness"]
    assert ax.get_title() == "The training of Trained: 5 epochs"
    with pytest.raises(TypeError, match="KMeans has no history"):
        wc.plots.history(KMeans(2))


# --- all of them ------------------------------------------------------------------------------------

DRAWN = {"bar": {}, "waterfall": {"row": 0}, "beeswarm": {}, "dots": {}, "heatmap": {}, "map": {}}
DRAWN["distribution"] = {}
DRAWN["duel"] = {"one": 0, "other": 1}


def asked(ex, name):
    return {"column": ex.feature_names[0]} if name == "distribution" else DRAWN[name]


@pytest.mark.parametrize("name", DRAWN)
@pytest.mark.parametrize("size", ["wine", "wide", "many"])
def test_axes_in_axes_out(name, size, request):
    """A picture on given axes is that on new ones of the same size, to the pixel."""
    ex = request.getfixturevalue(size)
    alone = getattr(ex.plot, name)(**asked(ex, name))
    assert alone.get_title()
    figure = Figure(figsize=alone.figure.get_size_inches(), layout="constrained")
    ax = figure.subplots()
    assert getattr(wc.plots, name)(ex, ax=ax, **asked(ex, name)) is ax
    first = pixels(alone)
    np.testing.assert_array_equal(first, pixels(ax))
    assert 0.01 < (first < 250).any(axis=-1).mean() < 0.95
    width, height = alone.figure.get_size_inches()
    assert width <= 16 and height <= 20


def test_red_speaks_for_everywhere(wine, tmp_path):
    """One convention: in our pictures, in heat maps of images, in the report, and in shap's pictures."""
    from whyclust.inputs import images
    from whyclust.plots.drawing import SIGNED

    assert to_hex(images._FOR / 255.0) == FOR
    assert to_hex(images._AGAINST / 255.0) == AGAINST
    low, high = matplotlib.colormaps[SIGNED]([0.1, 0.9])[:, :3]  # of the strong colours before the ends
    assert low[2] > low[0] and high[0] > high[2]
    page = wine.to_html(tmp_path / "page.html").read_text()
    assert f"--for:{FOR};--against:{AGAINST};" in page
    assert 'class="bar positive"' in page


def test_red_speaks_for_in_the_pictures_of_shap(wine):
    shap = pytest.importorskip("shap")
    from shap.plots import colors

    red, blue = colors.red_rgb, colors.blue_rgb
    assert red[0] > red[2] and blue[2] > blue[0]  # red is positive there, and a positive value speaks for
    assert isinstance(wine[:2].to_shap(), shap.Explanation)
    np.testing.assert_array_equal(wine[:2].to_shap().values, wine.values[:2])


def test_plots_that_are_not_of_an_explanation_say_where_they_are(wine):
    for name, where in {
        "choose_k": r"choose_k\(X\)\.plot\(\)",
        "history": r"plots\.history\(model\)",
    }.items():
        with pytest.raises(AttributeError, match=where):
            getattr(wine.plot, name)


# A stand-in for IPython's kernel, which displays pyplot's figures after each cell.
_NOTEBOOK = (
    "import types\n"
    "events = types.SimpleNamespace(register=lambda *_: None)\n"
    "shell = types.SimpleNamespace(kernel=object(), events=events, enable_gui=lambda *_: None)\n"
    "sys.modules['IPython'] = types.SimpleNamespace(get_ipython=lambda: shell, version_info=(8, 24))\n"
    "import warnings; warnings.simplefilter('ignore')\n"
)


def in_process(code):
    """Run some lines in a process of their own, in which nobody has imported pyplot."""
    begin = (
        "import sys, numpy as np, whyclust as wc\n"
        "from sklearn.cluster import KMeans\n"
        "X = np.random.default_rng(0).normal(size=(40, 3))\n"
        "ex = wc.explain(KMeans(2, n_init=1, random_state=0).fit(X), X)\n"
    )
    environment = {**os.environ, "MPLBACKEND": "agg"}
    subprocess.run([sys.executable, "-c", begin + code], check=True, env=environment)


def test_a_plot_is_the_current_figure_where_pyplot_is_in_use():
    """So ``plt.savefig`` writes it, and a notebook shows it at the end of the cell."""
    in_process(
        "import matplotlib.pyplot as plt\n"
        "ax = ex.plot.bar()\n"
        "assert plt.gcf() is ax.figure and plt.gca() is ax\n"
        "left, right = plt.subplots(1, 2)[1]\n"
        "assert ex.plot.bar(ax=left) is left and len(plt.get_fignums()) == 2\n"
    )


def test_a_figure_of_several_axes_is_the_current_one_too_but_displayed_once():
    """A notebook displays what a cell returns, and at its end what is pyplot's."""
    drawn = "wc.plots.relevance(wc.explain(KMeans(2, n_init=1).fit(X), X.reshape(-1, 1, 3)))"
    in_process(f"import matplotlib.pyplot as plt\nassert {drawn} is plt.gcf()\n")
    in_process(f"{_NOTEBOOK}drawn = {drawn}\nassert not sys.modules['matplotlib.pyplot'].get_fignums()\n")


def test_without_pyplot_no_list_of_figures_is_kept():
    in_process("ax = ex.plot.bar()\nassert ax.patches and 'matplotlib.pyplot' not in sys.modules\n")


def test_in_a_notebook_plots_are_those_of_pyplot():
    in_process(f"{_NOTEBOOK}ax = ex.plot.bar()\nassert sys.modules['matplotlib.pyplot'].gcf() is ax.figure\n")


@pytest.mark.parametrize("draw", ["waterfall", "duel", "bar", "beeswarm"])
def test_long_names_stay_within_the_picture(wine, draw):
    named = wine.with_names(
        {one: f"a name that is much longer than usual, of cluster {one}" for one in range(3)}
    )
    drawn = {
        "waterfall": lambda: named.plot.waterfall(row=3),
        "duel": lambda: named.plot.duel(0, 1),
        "bar": lambda: named.plot.bar(cluster=0),
        "beeswarm": lambda: named.plot.beeswarm(cluster=0),
    }[draw]()
    canvas = FigureCanvasAgg(drawn.figure)
    canvas.draw()
    for text in (drawn.title, drawn.xaxis.label):
        place = text.get_window_extent(canvas.get_renderer())
        assert place.x0 >= -1.0
        assert place.x1 <= drawn.figure.bbox.width + 1.0
        assert place.y1 <= drawn.figure.bbox.height + 1.0


def test_plots_of_an_explanation_have_help_of_their_own(wine):
    drawn = wine.plot.bar
    assert drawn.__doc__ == wc.plots.bar.__doc__
    assert drawn.__name__ == "bar"
    own, whole = (list(signature(one).parameters) for one in (drawn, wc.plots.bar))
    assert own == whole[1:]
