"""Texts go in as they are: words are the columns, and texts are shown with the words that count."""

import gzip
import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.decomposition import TruncatedSVD
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

import whyclust as wc
from whyclust.inputs import Texts
from whyclust.inputs.texts import marked
from whyclust.network import FactoredValues

ABOUT_CATS = [
    "The cat chased a mouse",
    "A mouse hid from the cat",
    "the cat slept & purred",
    "cats, a cat, a mouse",
]
ABOUT_STOCKS = [
    "Stocks fell",
    "the market rose and stocks gained",
    "traders sold stocks",
    "<b>stocks</b> of traders",
]
TEXTS = ABOUT_CATS + ABOUT_STOCKS


def k_means():
    return KMeans(2, n_init=3, random_state=0)


PIPELINES = {
    "tf-idf": make_pipeline(TfidfVectorizer(stop_words="english"), k_means()),
    "counts": make_pipeline(CountVectorizer(ngram_range=(1, 2)), Normalizer(), k_means()),
    "svd": make_pipeline(TfidfVectorizer(), TruncatedSVD(3, random_state=0), Normalizer(), k_means()),
    "nested": make_pipeline(make_pipeline(TfidfVectorizer(), TruncatedSVD(3, random_state=0)), k_means()),
}


@pytest.fixture(scope="module", params=PIPELINES)
def pipeline(request):
    return PIPELINES[request.param].fit(TEXTS)


def vectorizer_in(pipeline):
    first = pipeline[0]
    return first[0] if hasattr(first, "steps") else first


@pytest.fixture(scope="module")
def simple():
    return PIPELINES["tf-idf"].fit(TEXTS)


def test_a_pipeline_of_texts_is_explained_in_words(pipeline):
    ex = wc.explain(pipeline, TEXTS)
    step = vectorizer_in(pipeline)
    assert ex.feature_names == step.get_feature_names_out().tolist()
    assert isinstance(ex.values, FactoredValues)
    assert ex.kind.texts == tuple(TEXTS)
    np.testing.assert_array_equal(ex.assigned, pipeline.predict(TEXTS))
    assert np.abs(ex.values.sum(axis=1) + ex.base_values - ex.explained).max() < 1e-10
    # The same as the steps behind the vectorizer say of its table, and of the table as it is.
    words = step.transform(TEXTS)
    if not hasattr(pipeline[0], "steps"):
        behind = wc.explain(pipeline[1:], words, feature_names=ex.feature_names)
        np.testing.assert_array_equal(np.asarray(ex.values), np.asarray(behind.values))
    again = wc.explain(pipeline, words)
    assert again.feature_names == ex.feature_names
    np.testing.assert_array_equal(np.asarray(again.values), np.asarray(ex.values))


@pytest.mark.parametrize(
    "kind",
    [list, tuple, np.array, pl.Series, lambda texts: pd.Series(texts, index=[f"t{i}" for i in range(8)])],
)
def test_texts_in_any_sequence(simple, kind):
    ex = wc.explain(simple, kind(TEXTS))
    np.testing.assert_array_equal(np.asarray(ex.values), np.asarray(wc.explain(simple, TEXTS).values))
    named = isinstance(kind(TEXTS), pd.Series)
    assert ex.index.tolist() == ([f"t{place}" for place in range(8)] if named else list(range(8)))


def test_bad_texts_are_refused(simple):
    with pytest.raises(ValueError, match=r"X holds no text in row 1, expected texts: put '' in its place"):
        wc.explain(simple, ["a cat", None])
    with pytest.raises(ValueError, match=r"X holds no text in row 0"):
        wc.explain(simple, pd.Series([np.nan, "a cat"]))
    with pytest.raises(ValueError, match=r"X holds a float in row 1"):
        wc.explain(simple, ["a cat", 2.0])
    with pytest.raises(NotFittedError, match=r"its TfidfVectorizer\) is not fitted yet: call fit\(texts\)"):
        wc.explain(make_pipeline(TfidfVectorizer(), k_means()), TEXTS)
    hashed = make_pipeline(HashingVectorizer(n_features=16), k_means()).fit(TEXTS)
    with pytest.raises(TypeError, match=r"HashingVectorizer keeps no words.*wc.explain\(pipeline\[1:\]"):
        wc.explain(hashed, TEXTS)
    assert wc.explain(hashed[1:], hashed[0].transform(TEXTS)).shape == (8, 16)


def test_the_network_of_a_pipeline_reads_words(simple, tmp_path):
    words = simple[0].transform(TEXTS)
    net = wc.neuralize(simple, TEXTS)
    assert list(net.feature_names) == simple[0].get_feature_names_out().tolist()
    assert net.beta == wc.explain(simple, TEXTS).beta == wc.explain(simple, TEXTS[:3], background=TEXTS).beta
    assert wc.neuralize(simple).predict(words).tolist() == simple.predict(TEXTS).tolist()
    for one in (net, wc.load(wc.save(net, tmp_path / "net.npz"))):
        assert wc.explain(one, words).feature_names == list(net.feature_names)


def test_clusterings_of_which_only_labels_are_known():
    steps = TfidfVectorizer(), TruncatedSVD(3, random_state=0), AgglomerativeClustering(2)
    model = make_pipeline(*steps).fit(TEXTS * 3)
    ex = wc.explain(model, TEXTS * 3)
    assert ex.feature_names == steps[0].get_feature_names_out().tolist()
    assert ex.kind.texts == tuple(TEXTS * 3)
    assert ex.fidelity.overall_in_sample == 1.0


def test_names_and_sentences_are_made_of_words(simple):
    ex = wc.explain(simple, TEXTS)
    cats, stocks = ex.assigned[0], ex.assigned[-1]
    assert ex.cluster_names[cats].startswith("cat")
    assert ex.cluster_names[stocks].startswith("stocks")
    assert "For cluster 1: mouse = 0.5212 (relevance +0.255). Also stocks = 0 (+0.23)." in ex[0].describe(
        top=2
    )


def test_absent_words_are_left_out_of_what_is_shown_and_stay_in_sums(simple):
    ex = wc.explain(simple, TEXTS)
    present = ex.showing(absent=False)
    assert present.values is ex.values
    there = simple[0].transform(TEXTS).toarray() != 0
    np.testing.assert_array_equal(np.asarray(present.shown), np.where(there, np.asarray(ex.values), 0.0))
    names, values = present.top(20)
    for row, has in enumerate(there):
        wanted = {ex.feature_names[place] for place in np.flatnonzero(has)}
        assert set(names[row]) - {""} == wanted
        assert (values[row][names[row] == ""] == 0).all()
    assert "= 0 " in ex[0].describe(top=20)
    told = present[0].describe(top=20)
    assert "= 0 " not in told
    hidden = float(np.asarray(ex.values)[0][~there[0]].sum())
    assert f"{hidden:+.3g} belongs to columns that are 0 here." in told
    one = present.summary()[ex.assigned[0]]
    rows = np.flatnonzero(ex.assigned == ex.assigned[0])
    means = np.asarray(present.shown)[rows].mean(axis=0)
    assert dict(zip(one.features["feature"], one.features["relevance"], strict=True)) == pytest.approx(
        {name: mean for name, mean in zip(ex.feature_names, means, strict=True) if mean != 0}
    )
    assert "stocks" not in set(one.features["feature"])
    assert "stocks" in set(ex.summary()[ex.assigned[0]].features["feature"])
    # Explained so at once, asked further, of dense tables, and from files.
    assert not wc.explain(simple, TEXTS, absent=False).absent
    assert not present.ask(cluster=0).absent
    dense = wc.explain(simple[-1], simple[0].transform(TEXTS).toarray(), absent=False)
    assert np.abs(dense.shown - np.asarray(present.shown)).max() < 1e-10


def bars(axes):
    return [patch.get_width() for patch in axes.patches]


def test_pictures_without_absent_words_sum_to_the_same(simple):
    ex = wc.explain(simple, TEXTS)
    present = ex.showing(absent=False)
    cats = ex.assigned[0]
    assert sum(bars(present.plot.bar(cluster=cats, top=2))) == pytest.approx(
        sum(bars(ex.plot.bar(cluster=cats, top=2)))
    )
    labels = [text.get_text() for text in present[0].plot.waterfall(top=20).get_yticklabels()]
    n_present = int((simple[0].transform(TEXTS[:1]).toarray() != 0).sum())
    assert labels[-2:] == [f"{ex.shape[1] - n_present} other columns and zeros, summed", "sum"]
    assert not any(label.endswith("= 0") for label in labels)
    assert bars(present[0].plot.waterfall())[-1] == pytest.approx(bars(ex[0].plot.waterfall())[-1])
    both = [sum(bars(one.plot.duel(0, 1, top=3))) for one in (ex, present)]
    assert both[0] == pytest.approx(both[1])
    for name in ("dots", "beeswarm", "heatmap"):
        axes = getattr(present.plot, name)(top=3)
        ticks = [*axes.get_xticklabels(), *axes.get_yticklabels()]
        assert any("zeros, summed" in text.get_text() for text in ticks)


def test_words_are_marked_where_they_stand():
    words = ("new york", "new", "cafe", "o'clock")
    shown = marked("New  York's newest Café, new at 5 O'Clock", words, np.array([2.0, -1.0, 1.0, 0.5]))
    found = [part.split("</mark>")[0].split(">")[1] for part in shown.split("<mark ")[1:]]
    assert found == ["New  York", "Café", "new", "O&#x27;Clock"]
    assert shown.count("178, 24, 43") == 3
    assert shown.count("33, 102, 172") == 1
    assert marked("a <b>", ("c",), np.array([0.0])) == "a &lt;b&gt;"
    long = "x " * 3000 + "needle " + "y " * 3000
    cut = marked(long, ("needle",), np.array([1.0]))
    assert cut.startswith("… ")
    assert cut.endswith(" …")
    assert ">needle</mark>" in cut
    assert len(cut) < 1400


def test_reports_and_files_have_the_texts(simple, tmp_path):
    ex = wc.explain(simple, TEXTS)
    page = ex.to_html(tmp_path / "page.html").read_text()
    assert '<p class="text">' in page
    assert ">cat</mark>" in page
    assert "&lt;b&gt;<mark" in page
    assert Texts.legend in page
    for suffix in (".npz", ".json"):
        again = wc.load(ex.save(tmp_path / f"texts{suffix}"))
        assert again.kind == ex.kind
    some = ex[[2, 0]]
    assert some.kind.texts == (TEXTS[2], TEXTS[0])
    joined = type(ex).concat([ex[:3], ex[3:]])
    assert joined.kind == ex.kind


def test_audits_take_texts(simple):
    found = wc.audit(simple, TEXTS, n_refits=2, n_repeats=1, max_rows=20)
    assert found.trusted in ("yes", "with care", "no")
    assert found.settings["n_columns"] == len(simple[0].get_feature_names_out())


NEWS = Path(os.environ.get("WHYCLUST_DATA", "")) / "news20.jsonl.gz"


@pytest.mark.skipif(not NEWS.is_file(), reason="news20.jsonl.gz is not in WHYCLUST_DATA")
def test_news_are_explained_by_their_topics():
    with gzip.open(NEWS, "rt", encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line in lines][::10]
    vectorizer = TfidfVectorizer(stop_words="english", min_df=3, max_df=0.5)
    svd = TruncatedSVD(50, random_state=0)
    model = make_pipeline(vectorizer, svd, Normalizer(), KMeans(20, n_init=1, random_state=0)).fit(texts)
    ex = wc.explain(model, texts, absent=False)
    first = {word for one in ex.summary() for word in one.features["feature"][:5]}
    assert len(first & {"god", "car", "windows", "space", "team", "key", "drive", "israel", "sale"}) >= 6


@pytest.mark.parametrize("settings", [{}, {"use_idf": False}, {"norm": "l1"}, {"norm": None}])
def test_word_weights_as_a_step_of_their_own(settings):
    """CountVectorizer and TfidfTransformer are what TfidfVectorizer is in one."""
    from sklearn.cluster import KMeans
    from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer, TfidfVectorizer
    from sklearn.pipeline import make_pipeline

    texts = [
        "cat chased mouse mouse",
        "mouse hid cat",
        "cat slept",
        "stocks fell",
        "stocks rose stocks",
        "stocks",
    ]
    clusters = KMeans(2, n_init=3, random_state=0)
    apart = make_pipeline(CountVectorizer(), TfidfTransformer(**settings), clusters).fit(texts)
    one = make_pipeline(TfidfVectorizer(**settings), KMeans(2, n_init=3, random_state=0)).fit(texts)
    ex, wanted = wc.explain(apart, texts), wc.explain(one, texts)
    assert ex.feature_names == wanted.feature_names
    assert np.abs(np.asarray(ex.values) - np.asarray(wanted.values)).max() < 1e-10
    assert np.abs(ex.evidence - wanted.evidence).max() < 1e-10
    bent = make_pipeline(CountVectorizer(), TfidfTransformer(sublinear_tf=True), clusters).fit(texts)
    with pytest.raises(TypeError, match="TfidfTransformer with sublinear_tf"):
        wc.explain(bent, texts)


def test_words_are_told_by_their_weight():
    texts = ["cat mouse", "cat purr", "stocks fell", "stocks rose"]
    model = make_pipeline(TfidfVectorizer(), KMeans(2, n_init=3, random_state=0)).fit(texts)
    told = wc.explain(model, texts).describe(top=1)
    assert 'Its mean weight of "cat" is above cluster 0' in told and "Its mean cat" not in told


def test_errors_say_what_can_be_done_with_texts():
    texts = ["the cat chased a mouse", "a mouse hid", "the cat slept", "stocks fell", "stocks rose"] * 4
    model = make_pipeline(TfidfVectorizer(), KMeans(2, n_init=1, random_state=0)).fit(texts)
    with pytest.raises(TypeError, match=r"X is one text, expected a list of texts: pass \[text\]"):
        wc.explain(model, "one text")
    with pytest.raises(
        ValueError, match=r"a network reads the columns .*: pass pipeline\[0\].transform\(texts\)"
    ):
        wc.neuralize(model).predict(texts)
    mixture = make_pipeline(
        TfidfVectorizer(), TruncatedSVD(2, random_state=0), GaussianMixture(2, random_state=0)
    ).fit(texts)
    with pytest.raises(TypeError, match=r"wc.explain\(pipeline\[-1\], pipeline\[:-1\].transform\(texts\)\)"):
        wc.explain(mixture, texts)
    assert wc.explain(mixture[-1], mixture[:-1].transform(texts)).shape == (20, 2)


def test_texts_without_a_known_word_are_told_of_and_not_typical():
    texts = [*TEXTS, "", "zzz", " "]
    model = make_pipeline(TfidfVectorizer(), KMeans(2, n_init=1, random_state=0)).fit(TEXTS * 3)
    told = f"3 of {len(texts)} texts hold none of the words that the model knows"
    with pytest.warns(UserWarning, match=told):
        ex = wc.explain(model, texts)
    assert [note.split(":")[0] for note in ex.notes] == [told]
    for one in ex.summary():
        assert not set(one.typical[:1]) & {len(TEXTS), len(TEXTS) + 1, len(TEXTS) + 2}
    assert wc.explain(model, TEXTS).notes == []


def test_a_rare_word_names_no_cluster_of_texts_that_lack_the_others(simple):
    ex = wc.explain(simple, TEXTS, absent=False)
    own = ex.summary()[0]
    assert own.name not in ("", "cluster 0")
    little = replace(ex, evidence=100.0 * ex.evidence)  # words that are there have little part in it
    assert little.summary()[0].name in ("", "cluster 0", "0")
    assert replace(little, absent=True).summary()[0].name == ex.showing(absent=True).summary()[0].name


def test_frozen_pipelines_of_texts_are_explained(simple):
    wanted = wc.explain(simple, TEXTS).to_pandas()
    for model in (FrozenEstimator(simple), make_pipeline(FrozenEstimator(simple[0]), simple[1])):
        pd.testing.assert_frame_equal(wc.explain(model, TEXTS).to_pandas(), wanted)
