"""Clusters whose ids are texts of numbers, as leiden's are, can be asked for by the number."""

import numpy as np
import pytest
from matplotlib.figure import Figure

import whyclust as wc
from whyclust._clusters import cluster_meant, clusters_listed


@pytest.fixture(scope="module")
def explained():
    generator = np.random.default_rng(0)
    labels = np.repeat(np.arange(12), 15)
    X = 9.0 * generator.normal(size=(12, 4))[labels] + generator.normal(size=(180, 4))
    return wc.explain(labels.astype(str), X)


def test_one_function_says_which_cluster_is_meant():
    assert cluster_meant(np.int64(1), ["0", "1"]) == "1"
    assert cluster_meant("1", [0, 1]) == 1
    assert cluster_meant(1, [1, "1"]) == 1
    assert cluster_meant("1", [1, "1"]) == "1"
    assert cluster_meant([1], [0, 1]) is None
    assert clusters_listed(map(str, range(12))) == "'0', '1', '2', '3', '4', '5', '6', '7', '8', '9', …"


def test_a_number_stands_for_its_text(explained):
    ex = explained
    asked = ex.ask(cluster=2, against=10)
    np.testing.assert_array_equal(asked.values, ex.ask(cluster="2", against="10").values)
    assert (asked.question.cluster, asked.question.against) == ("2", "10")
    by_row = ex.ask(cluster=ex.labels.astype(int))
    np.testing.assert_array_equal(by_row.values, ex.ask(cluster=ex.labels).values)
    assert ex.summary()[2].cluster == "2"
    assert {rule.cluster for rule in ex.rules(2)} == {"2"}
    assert {rule.cluster for rule in ex.rules().of(2)} == {"2"}
    assert ex.subpatterns(2).cluster == "2"
    assert ex.smallest_change(0, to=2).to == "2"
    assert ex.with_names({2: "second"}).names == {"2": "second"}
    ax = Figure().subplots()
    assert "2" in ex.plot.bar(cluster=2, ax=ax).get_title()
    assert "2" in ex.plot.duel(2, 10, ax=Figure().subplots()).get_title()


def test_unknown_clusters_are_listed_as_people_count_and_texts_in_quotes(explained):
    ex = explained
    first = r"'0', '1', '2', '3', '4', '5', '6', '7', '8', '9', …"
    for ask in (
        lambda: ex.ask(cluster=77),
        lambda: ex.rules(77),
        lambda: ex.subpatterns(77),
        lambda: ex.smallest_change(0, to=77),
        lambda: ex.with_names({77: "none"}),
        lambda: ex.plot.bar(cluster=77),
        lambda: ex.rules("2").of(3),
    ):
        with pytest.raises(ValueError, match=f"77.*{first}|expected one of '2'"):
            ask()
    with pytest.raises(KeyError, match=f"it has {first}"):
        ex.summary()[77]
