"""Words that are true: direction against the competitors that matter, names, typical rows, order."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import BisectingKMeans, KMeans
from sklearn.datasets import load_wine, make_blobs
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import whyclust as wc
from whyclust._sorting import as_counted
from whyclust.command.cli import _exit_code
from whyclust.network.rivalry import Rivalry
from whyclust.telling.names import distinct_names
from whyclust.telling.rounding import compared

ROOT = Path(__file__).parent.parent
CUSTOMERS = str(ROOT / "examples" / "customers.csv")
WINE = load_wine(as_frame=True).data


def placed(*levels, rows=10, spread=0.3, seed=0):
    """One column, a cluster at each level, and their explanation."""
    noise = np.random.default_rng(seed).normal(scale=spread, size=(len(levels) * rows, 1))
    X = np.repeat(np.array(levels, dtype=float)[:, None], rows, axis=0) + noise
    model = KMeans(len(levels), init=np.array(levels, dtype=float)[:, None], n_init=1).fit(X)
    return wc.explain(model, X, feature_names=["income"])


@pytest.fixture(scope="module")
def wine():
    model = make_pipeline(StandardScaler(), KMeans(3, n_init=2, random_state=0)).fit(WINE)
    return wc.explain(model, WINE)


# --------------------------------------------------------------------------- direction


def test_a_cluster_at_5_between_0_and_20_is_told_as_between():
    ex = placed(0.0, 5.0, 20.0)
    one = ex.summary()[1]
    told = one.features.iloc[0]
    assert told["direction"] == "between"
    assert {told["against"], told["other_side"]} == {0, 2}
    assert one.name == "middling income"
    line = ex.describe().splitlines()[1]
    assert "Its mean income is below cluster 2 (4.9 against 20) and above cluster 0." in line
    assert "low income" not in line
    assert [one.features["direction"][0] for one in ex.summary()] == ["below", "between", "above"]


def test_customers_in_the_middle_have_no_low_income(tmp_path, capsys):
    assert _exit_code(["explain", CUSTOMERS, "-k", "3", "--out", str(tmp_path / "out")]) == 0
    lines = capsys.readouterr().out.splitlines()
    middle = next(line for line in lines if line.startswith("Cluster 2 "))
    assert "Its mean income is below cluster 0 (33,100 against 60,200) and above cluster 1." in middle
    assert "low income" not in middle
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = re.search(r"```text\n(Cluster 2 .*?)```", readme, flags=re.DOTALL).group(1)
    assert " ".join(shown.split()).replace("C0195", "195").replace("C0175", "175") == middle


def test_23_899_against_1_760_is_not_similar():
    """A few very large numbers make the standard deviation of all rows huge; the clusters still differ."""
    generator = np.random.default_rng(0)
    money = np.concatenate([generator.normal(1760, 300, 50), generator.normal(23_899, 4000, 50), [9e6, 8e6]])
    place = np.repeat([0.0, 10.0, 20.0], [50, 50, 2]) + generator.normal(size=102)
    frame = pd.DataFrame({"money": money, "place": place})
    model = make_pipeline(StandardScaler(), KMeans(3, n_init=5, random_state=0)).fit(frame)
    labels = model.predict(frame)
    assert labels[0] != labels[60]
    told = wc.explain(model, frame).summary()[labels[60]].features.set_index("feature").loc["money"]
    assert abs(told["inside"] - 1760) < 0.1 * money.std()  # which was called middling
    assert told["direction"] == "between"


def test_means_are_similar_that_hardly_differ_within_their_clusters():
    """A tenth of the smaller standard deviation is worth a word."""
    for shift, word in ((0.0, "similar"), (0.08, "similar"), (0.12, "above")):
        table = np.array([[0.0, -1.0], [0.0, 1.0], [9.0, -1.0 + shift], [9.0, 1.0 + shift]])
        model = KMeans(2, init=[[0.0, 0.0], [9.0, 0.0]], n_init=1).fit(table)
        found = wc.explain(model, table).summary()[1].features.set_index("feature")
        assert found.loc["x1", "direction"] == word
        assert found.loc["x1", "against"] == 0


def test_a_difference_of_rounding_is_none():
    """Rows of either cluster do not differ among themselves, so that any difference would count."""
    table = np.array([[0.0, 0.3], [0.0, 0.3], [9.0, 0.1 + 0.2], [9.0, 0.1 + 0.2]])
    assert table[0, 1] != table[2, 1]
    model = KMeans(2, init=[[0.0, 0.3], [9.0, 0.3]], n_init=1).fit(table)
    found = wc.explain(model, table).summary()[1].features.set_index("feature")
    assert found.loc["x1", "direction"] == "similar"


def test_categories_are_told_against_the_competitors_that_matter():
    """Most of the middle cluster is red; the near neighbour has none, the far cluster is all red."""
    place = np.repeat([0.0, 10.0, 1000.0], 20)
    colour = np.array(["blue"] * 20 + ["red"] * 12 + ["green"] * 8 + ["red"] * 20)
    frame = pd.DataFrame({"place": place, "colour": colour})
    model = KMeans(3, init=[[0.0], [10.0], [1000.0]], n_init=1).fit(place[:, None])
    ex = replace(
        wc.explain(model, place[:, None]),
        data=frame,
        values=np.tile([1.0, 2.0], (60, 1)),
        feature_names=["place", "colour"],
    )
    near = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.01], [0.0, 1.0, 0.0]])
    told = replace(ex, rivalry=Rivalry(np.arange(3), near)).summary()[1].features.iloc[0]
    assert (told["direction"], told["inside"], told["there"]) == ("mostly red", "60% red", "0% red")
    both = replace(ex, rivalry=Rivalry(np.arange(3), np.ones((3, 3)) - np.eye(3)))
    told = both.summary()[1].features.iloc[0]
    assert (told["direction"], told["inside"], told["against"]) == ("often green", "40% green", 0)
    assert "Its colour is often green (40%, against 0% in cluster 0)." in both.describe()


def test_a_duel_is_told_against_its_one_competitor():
    ex = placed(0.0, 5.0, 20.0)
    for rival, word in ((0, "above"), (2, "below")):
        told = ex.ask(cluster=1, against=rival).summary()[1].features.iloc[0]
        assert (told["direction"], told["against"]) == (word, rival)


def test_without_weights_the_nearest_clusters_by_their_own_data_are_told():
    ex = placed(0.0, 5.0, 20.0)
    assert replace(ex, rivalry=None).describe() == ex.describe()
    near = replace(placed(0.0, 1.0, 20.0, 21.0), rivalry=None).summary()
    assert [one.features["against"][0] for one in near] == [1, 0, 3, 2]


def test_rows_of_one_cluster_are_compared_with_no_one():
    ex = placed(0.0, 5.0, 20.0)
    alone = ex[ex.clusters == 1]
    assert alone.summary()[1].features["direction"][0] == ""
    assert alone.describe().startswith("Cluster 1 holds 10 of 10 rows. Its mean income is 4.86.")


def test_no_columns_can_be_asked_for():
    lines = placed(0.0, 5.0, 20.0).describe(top=0).splitlines()
    assert lines[0].startswith("Cluster 0 'low income' holds 10 of 30 rows. Row ")


def sentences(text):
    """Sentences without what quotes and names of clusters and rows hold."""
    bare = re.sub(r"'[^']*'|\b[Cc]lusters? \d+|\b[Rr]ow \S+|is \d+\.$", "", text, flags=re.MULTILINE)
    return re.split(r"(?<=[.)])\s", bare)


@pytest.mark.parametrize("top", [3, 13])
def test_a_sentence_has_at_most_two_numbers_and_is_short(wine, top):
    names = "|".join(map(re.escape, WINE.columns))
    told = "\n".join([wine.describe(top=top), wine[0].describe(top=top), wine[70].describe(top=top)])
    for sentence in sentences(re.sub(names, "column", told)):
        assert len(re.findall(r"\d[\d,.]*", sentence)) <= 2, sentence
        assert len(sentence) < 130


def test_numbers_that_are_compared_show_their_difference():
    assert compared(60_156.0, 24_303.0) == ("60,200", "24,300")
    assert compared(1987.4, 1993.2) == ("1987.4", "1993.2")
    assert compared(100.001, 100.002) == ("100.001", "100.002")
    assert compared(5.0, 5.0) == ("5", "5")
    assert compared(1.0, float("nan")) == ("1", "missing")


# --------------------------------------------------------------------------- the weights


def literal_rivalry(net, X, clusters):
    """Mean weights of the competitors, row by row, from the pool itself."""
    total = np.zeros((len(net.clusters), len(net.clusters)))
    logits = net.logits(X)
    for row, cluster in enumerate(clusters):
        others = [k for k in range(len(net.clusters)) if k != cluster]
        h = logits[row, cluster] - logits[row, others]
        p = np.exp(-net.beta * (h - h.min()))
        total[cluster, others] += p * h.min() / (p @ h)  # the rule 'expected'
    return total


@pytest.mark.parametrize("make", [lambda: KMeans(4, n_init=1, random_state=0), lambda: GaussianMixture(4)])
def test_rivalry_is_the_sum_of_the_weights_of_the_pool(make):
    X, _ = make_blobs(80, centers=4, n_features=3, cluster_std=3.0, random_state=1)
    model = make().fit(X)
    net = wc.neuralize(model, X)
    found = wc.explain(net, X).rivalry
    expected = literal_rivalry(net, X, net.predict(X))
    assert np.abs(found.weights - expected).max() < 1e-9
    assert (np.diag(found.weights) == 0).all()


def test_rows_that_are_elsewhere_do_not_say_who_competes():
    """Asked about cluster 1, rows of 0 and 2 compete with their own clusters."""
    ex = placed(0.0, 5.0, 20.0)
    asked = ex.ask(cluster=1)
    assert np.abs(asked.rivalry.weights[1] - ex.rivalry.weights[1]).max() < 1e-12
    assert not asked.rivalry.weights[[0, 2]].any()


def test_rivalry_of_a_tree_goes_to_the_clusters_on_the_other_side():
    X, _ = make_blobs(80, centers=4, n_features=3, cluster_std=3.0, random_state=1)
    ex = wc.explain(BisectingKMeans(4, random_state=0).fit(X), X)
    assert (np.diag(ex.rivalry.weights) == 0).all()
    assert (ex.rivalry.weights.sum(axis=1) > 0).all()
    for cluster in range(4):  # who weighs most is the strongest competitor of some rows
        assert ex.rivalry.weights[cluster].argmax() in ex.competitors[ex.clusters == cluster]


def test_rivalry_is_the_same_of_sparse_rows_and_of_parts_and_from_a_file(tmp_path):
    X = sp.random_array((60, 5), density=0.5, format="csr", rng=np.random.default_rng(0))
    net = wc.neuralize(KMeans(3, n_init=1, random_state=0).fit(X), X)
    sparse, dense = wc.explain(net, X), wc.explain(net, X.toarray())
    assert np.abs(sparse.rivalry.weights - dense.rivalry.weights).max() < 1e-10
    parts = [wc.explain(net, X.toarray()[:20]), wc.explain(net, X.toarray()[20:])]
    joined = wc.Explanation.concat(parts)
    assert np.abs(joined.rivalry.weights - dense.rivalry.weights).max() < 1e-10
    for name in ("ex.npz", "ex.json", "ex.parquet"):
        again = wc.load(dense.with_names({1: "the others"}).save(tmp_path / name))
        assert np.abs(again.rivalry.weights - dense.rivalry.weights).max() < 1e-15
        assert again.names == {1: "the others"}


@pytest.mark.filterwarnings("ignore:The surrogate agrees with")
def test_noise_is_no_competitor_of_clusters():
    X, labels = make_blobs(90, centers=3, n_features=2, random_state=0)
    labels = np.where(np.arange(90) % 9 == 0, -1, labels)
    ex = wc.explain(labels, X)
    weights = dict(zip(ex.rivalry.clusters.tolist(), ex.rivalry.weights, strict=True))
    assert all(weights[cluster][-1] == 0 for cluster in range(3))
    for one in ex.summary():
        rivals = set(one.features["against"]) | set(one.features["other_side"])
        assert one.is_noise or -1 not in rivals


# --------------------------------------------------------------------------- names


@settings(max_examples=40, deadline=None)
@given(
    st.dictionaries(
        st.integers(0, 40), st.lists(st.sampled_from("abcde"), max_size=6, unique=True), max_size=30
    ),
    st.lists(st.sampled_from(["a", "a, b", "a (2)", "cluster 3"]), unique=True),
)
def test_names_are_distinct_whatever_the_marks(marks, taken):
    names = distinct_names(marks, taken)
    assert names.keys() == marks.keys()
    assert len({*names.values(), *taken}) == len(names) + len(taken)
    assert all(names.values())


def test_names_that_are_the_same_get_more_columns():
    marks = {
        0: ["high a", "low b", "low c"],
        1: ["high a", "low b", "high c"],
        2: ["low a", "low b", "low c"],
    }
    assert distinct_names(marks) == {
        0: "high a, low b, low c",
        1: "high a, low b, high c",
        2: "low a, low b",
    }


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n_columns", [1, 3])
def test_thirty_clusters_of_random_tables_have_thirty_names(seed, n_columns):
    X = np.random.default_rng(seed).normal(size=(200, n_columns))
    names = wc.explain(KMeans(30, n_init=1, random_state=0).fit(X), X).cluster_names
    assert len(set(names.values())) == 30
    if n_columns == 1:  # three words for thirty clusters
        assert any(re.search(r" \(\d+\)$", name) for name in names.values())


def test_identical_profiles_get_numbers():
    ex = placed(0.0, 5.0)
    ex = replace(ex, data=np.ones((20, 1)))
    assert list(ex.cluster_names.values()) == ["cluster 0", "cluster 1"]
    marks = {cluster: ["high age", "country"] for cluster in range(3)}
    assert list(distinct_names(marks).values()) == [
        "high age, country",
        "high age, country (2)",
        "high age, country (3)",
    ]


@pytest.mark.filterwarnings("ignore:The surrogate agrees with")
def test_labels_that_are_names_keep_them_and_noise_is_noise():
    X, labels = make_blobs(60, centers=2, n_features=2, random_state=0)
    words = np.array(["ants", "bees"])[labels]
    assert wc.explain(words, X).cluster_names == {"ants": "ants", "bees": "bees"}
    assert wc.explain(words, X).describe().startswith("Cluster ants holds")
    noisy = wc.explain(np.where(np.arange(60) < 4, -1, labels), X)
    assert noisy.cluster_names[-1] == "noise"


def test_names_that_are_given_are_used_everywhere(wine, tmp_path):
    named = wine.with_names({1: "bold reds"})
    assert wine.names == {}
    assert named.cluster_names[1] == "bold reds"
    assert named.cluster_names[0] == wine.cluster_names[0]
    assert "Cluster 1 'bold reds' holds" in named.describe()
    assert "cluster 1 'bold reds'" in repr(named.summary())
    assert "bold reds" in named.summary()._repr_html_()
    assert "bold reds" in named.summary().to_pandas()["name"].tolist()
    assert named.summary().to_json()[1]["name"] == "bold reds"
    assert [one["cluster"] for one in named.summary().to_json()] == [0, 1, 2]  # never instead of the id
    row = named[int(np.flatnonzero(wine.clusters == 1)[0])]
    assert "is in cluster 1 'bold reds' and not in" in row.describe()
    page = named.to_html(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<h2>Cluster 1: bold reds " in page
    assert named.ask(cluster=1).summary()[1].name == "bold reds"
    assert wine.with_names({1: wine.cluster_names[0]}).cluster_names[0] != wine.cluster_names[0]


def test_names_are_an_argument_of_explain():
    X = np.array([[0.0], [1.0], [9.0], [10.0]])
    model = KMeans(2, init=[[0.5], [9.5]], n_init=1).fit(X)
    assert wc.explain(model, X, names={0: "left", 1: "right"}).cluster_names == {0: "left", 1: "right"}
    with pytest.raises(ValueError, match="names has cluster 7, expected one of 0, 1"):
        wc.explain(model, X, names={7: "far"})
    with pytest.raises(ValueError, match="'same' twice"):
        wc.explain(model, X, names={0: "same", 1: "same"})
    with pytest.raises(ValueError, match=r"names\[0\] is '', expected a name"):
        wc.explain(model, X, names={0: ""})
    with pytest.raises(TypeError, match="names is a list"):
        wc.explain(model, X, names=["left", "right"])


def test_names_on_the_command_line(tmp_path, capsys):
    out = tmp_path / "out"
    arguments = ["explain", CUSTOMERS, "-k", "3", "--out", str(out)]
    assert _exit_code([*arguments, "--names", "0=well-off, in the suburbs,2=seniors"]) == 0
    printed = capsys.readouterr().out
    assert "Cluster 0 'well-off, in the suburbs' holds" in printed
    assert "Cluster 2 'seniors' holds" in printed
    lines = pd.read_csv(out / "clusters.csv")
    assert set(lines["cluster"]) == {0, 1, 2}
    assert set(lines.loc[lines["cluster"] == 2, "cluster_name"]) == {"seniors"}
    found = json.loads((out / "summary.json").read_text(encoding="utf-8"))["clusters"]
    assert [one["cluster"] for one in found] == [0, 1, 2]
    assert found[2]["name"] == "seniors"
    assert "Cluster 2: seniors" in (out / "report.html").read_text(encoding="utf-8")
    assert wc.load(out / "relevance.parquet").names == {0: "well-off, in the suburbs", 2: "seniors"}
    for wrong, told in (("seniors", "expected clusters and names"), ("7=x", "expected one of 0, 1, 2")):
        assert _exit_code([*arguments, "--names", wrong]) == 2
        assert told in capsys.readouterr().err
    assert _exit_code([*arguments, "--names", "0=a", "--names", "0=b"]) == 2
    assert "two names for cluster 0" in capsys.readouterr().err


def test_names_are_in_titles_of_plots():
    pytest.importorskip("matplotlib")
    images = np.random.default_rng(0).normal(size=(20, 3, 3)) + np.repeat([0.0, 5.0], 10)[:, None, None]
    model = KMeans(2, n_init=1, random_state=0).fit(images.reshape(20, -1))
    ex = wc.explain(model, images, names={0: "dark"})
    assert ex.cluster_names == {0: "dark", 1: "cluster 1"}  # of pixels no name is made
    titles = [axis.get_title() for axis in ex.plot.relevance().axes]
    assert any("cluster 0 'dark'" in title for title in titles)


# --------------------------------------------------------------------------- rows and order


@pytest.mark.parametrize("seed", range(5))
def test_the_row_closest_to_leaving_is_not_typical(seed):
    X = np.random.default_rng(seed).normal(size=(24, 2))
    ex = wc.explain(KMeans(8, n_init=1, random_state=0).fit(X), X)
    for one in ex.summary():
        if one.size > 1:
            assert one.borderline[0] not in one.typical
            assert one.typical
        else:
            assert one.typical == one.borderline
    text = ex.describe()
    for one in ex.summary():
        line = next(line for line in text.splitlines() if line.startswith(f"Cluster {one.cluster} "))
        assert ("Its only row is" in line) == (one.size == 1)


def test_of_two_equal_rows_one_is_typical():
    """Both are as far from the mean, and were named as typical and as closest to leaving."""
    X = np.array([[0.0], [1.0], [9.0], [10.0]])
    ex = wc.explain(KMeans(2, init=[[0.5], [9.5]], n_init=1).fit(X), X)
    one = ex.summary()[0]
    assert (one.typical, one.borderline[0]) == ([0], 1)


def test_clusters_sort_as_people_count(tmp_path):
    assert sorted(["c10", "c9", "c1b", "c1a", "2", "10"], key=as_counted) == [
        "2",
        "10",
        "c1a",
        "c1b",
        "c9",
        "c10",
    ]
    X, codes = make_blobs(120, centers=11, n_features=2, cluster_std=0.1, random_state=0)
    ex = wc.explain(np.array([f"{code}" for code in codes]), X)
    expected = [str(code) for code in range(11)]
    assert [one.cluster for one in ex.summary()] == expected
    assert "clusters 0, 1, 2, 3, 4, 5, …" in repr(ex)
    page = ex.to_html(tmp_path / "page.html").read_text(encoding="utf-8")
    heads = re.findall(r"<h2>Cluster (\d+)", page)
    assert heads == expected
    fidelity = page[page.index('class="fidelity"') :]
    lines = re.findall(r'<th scope="row" class="name">(\d+)<', fidelity[: fidelity.index("</table>")])
    assert lines == expected


def test_a_mean_at_an_end_is_not_middling():
    """Of three means 0, 0.4 and 20 the second is the middle one, but as low as the first to a reader."""
    names = [one.name for one in placed(0.0, 0.4, 20.0, spread=0.02).summary()]
    assert not any("middling" in name for name in names)
    assert "middling income" in [one.name for one in placed(0.0, 3.0, 20.0, spread=0.02).summary()]


def test_columns_that_are_called_mean_are_not_told_twice():
    ex = placed(0.0, 5.0, 20.0)
    renamed = wc.explain(
        KMeans(3, n_init=1, random_state=0).fit(ex.data), ex.data, feature_names=["Mean area"]
    )
    told = renamed.describe()
    assert "Its average Mean area is" in told and "mean mean" not in told.lower()


def test_what_tells_from_one_far_cluster_only_does_not_lead_a_name():
    """The first cluster is low in a only beside one that is very high there; most others it is level with."""
    generator = np.random.default_rng(0)
    centers = np.zeros((6, 4))
    centers[:, 0] = [-0.1, 6.0, 0.2, -0.3, 0.1, 0.0]
    centers[:, 1] = [6.5, 6.5, 0.0, 0.0, 0.0, 0.0]
    centers[2:, 2:] = [[4.0, 4.0], [4.0, -4.0], [-4.0, 4.0], [-4.0, -4.0]]
    labels = np.repeat(np.arange(6), 60)
    X = centers[labels] + 0.5 * generator.normal(size=(360, 4))
    model = KMeans(6, init=centers, n_init=1).fit(X)
    ex = wc.explain(model, X, feature_names=["a", "b", "c", "d"], beta=0.06)
    one = ex.summary()[0]
    assert one.features["feature"].iloc[0] == "a"
    assert one.name == "high b, low a"
    assert ex.summary()[1].name.startswith("high a")


def test_often_is_said_of_a_third_of_the_rows_or_more():
    plans = np.repeat(["Basic", "Pro"], 50)

    def told_of(share):
        plan = plans.copy()
        plan[50:] = np.where(np.arange(50) < round(50 * share), "Basic", "Pro")
        plan[:50] = "Pro"
        frame = pd.DataFrame({"age": np.repeat([20.0, 80.0], 50) + np.arange(100) % 7, "plan": plan})
        explained = wc.explain(np.repeat([0, 1], 50), frame)
        table = explained.summary()[1].features.set_index("feature")
        return table.loc["plan", "direction"], explained

    assert told_of(0.04)[0] == "more often Basic"
    assert told_of(0.3)[0] == "more often Basic"
    assert told_of(0.34)[0] == "often Basic"
    assert told_of(0.6)[0] == "mostly Basic"
    assert all("Basic" not in name for name in told_of(0.3)[1].cluster_names.values())


def test_one_mean_is_told_alike_beside_any_other():
    assert {compared(8684.3, other)[0] for other in (3021.0, 60_156.0, 940_000.0)} == {"8680"}


def test_a_newline_in_a_name_does_not_break_a_sentence():
    plans = np.repeat(["old\nplan", "new"], 20)
    frame = pd.DataFrame({"net\nincome": np.arange(40.0) + 40 * (plans == "new"), "the\tplan": plans})
    ex = wc.explain(np.repeat([0, 1], 20), frame)
    told = [*ex.describe().splitlines(), ex[0].describe(), *ex.cluster_names.values()]
    assert len(ex.describe().splitlines()) == 2
    assert not any("\n" in one or "\t" in one for one in told)
    assert "net income" in told[0]
    assert ex.feature_names == ["net\nincome", "the\tplan"]
