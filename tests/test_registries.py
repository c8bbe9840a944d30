"""A section of the report, a plot and a clustering of the command line, each by registration alone."""

import json

import numpy as np
import pytest
from markupsafe import Markup
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.mixture import GaussianMixture

import whyclust as wc
from whyclust.baselines import METHODS, Attribution, Baseline, baseline
from whyclust.command import clusterers
from whyclust.command.cli import _exit_code
from whyclust.inputs import InputKind, input_kind
from whyclust.inputs import kind as kind_registry
from whyclust.plots import plot, registry
from whyclust.report import section, sections

X = load_iris(as_frame=True).data


@pytest.fixture(scope="module")
def ex():
    return wc.explain(KMeans(3, n_init=1, random_state=0).fit(X), X)


def test_a_section_of_the_report(ex, tmp_path, monkeypatch):
    monkeypatch.setattr(sections, "_SECTIONS", list(sections._SECTIONS))

    @section(order=350)
    def largest(page):
        return Markup("<section><h2>Largest</h2>{}</section>").format(page.explanation.feature_names[0])

    @section(order=360)
    def escaped(page):
        return "<b>as it is</b>"

    @section(order=370)
    def silent(page):
        return None

    page = ex.to_html(tmp_path / "page.html").read_text()
    assert "<section><h2>Largest</h2>sepal length (cm)</section>" in page
    assert "&lt;b&gt;as it is&lt;/b&gt;" in page
    # After the paragraphs, before the clusters.
    assert page.index('class="sentences"') < page.index("Largest") < page.index('id="cluster-0"')


def test_a_plot(ex, monkeypatch):
    monkeypatch.setattr(registry, "_PLOTS", dict(registry._PLOTS))

    @plot
    def strongest(explanation, *, count=1):
        return explanation.top(count)[0].tolist()

    assert ex.plot.strongest(count=2) == ex.top(2)[0].tolist()
    assert {"relevance", "strongest"} <= set(dir(ex.plot))
    with pytest.raises(AttributeError, match="There is no plot 'strongst': did you mean 'strongest'"):
        ex.plot.strongst()
    with pytest.raises(AttributeError, match=r"there are bar, .*relevance, strongest"):
        ex.plot.zzz()
    with pytest.raises(
        TypeError, match=r"which plot: call .* or ex\.plot\.relevance\(\) or ex\.plot\.strongest\(\)"
    ):
        ex.plot()


def test_a_plot_of_our_own_is_called_from_the_explanation():
    pytest.importorskip("matplotlib")
    images = np.random.default_rng(0).normal(size=(12, 4, 4))
    shown = wc.explain(KMeans(2, n_init=1, random_state=0).fit(images.reshape(12, -1)), images)
    assert len(shown.plot.relevance(rows=[0, 3]).axes) >= 4


def test_a_clustering_of_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(clusterers, "_CLUSTERERS", dict(clusterers._CLUSTERERS))

    @clusterers.clusterer("mixture")
    def mixture(k, seed):
        return GaussianMixture(k, random_state=seed)

    table = tmp_path / "iris.csv"
    X.to_csv(table, index=False)
    out = tmp_path / "out"
    arguments = ["explain", str(table), "-k", "3", "--method", "mixture", "--out", str(out), "--quiet"]
    assert _exit_code(arguments) == 0
    assert json.loads((out / "summary.json").read_text())["computed"]["method"] == "mixture"
    assert _exit_code(["explain", str(table), "--method", "magic", "--out", str(out)]) == 2
    assert "use one of kmeans, kernel, soft, minibatch, mixture" in capsys.readouterr().err


def test_what_is_defined_again_takes_the_place_of_the_earlier(ex, tmp_path, monkeypatch):
    """A notebook's cell may run twice; a name that another has is refused, in all registries alike."""
    monkeypatch.setattr(sections, "_SECTIONS", list(sections._SECTIONS))
    monkeypatch.setattr(registry, "_PLOTS", dict(registry._PLOTS))
    monkeypatch.setattr(clusterers, "_CLUSTERERS", dict(clusterers._CLUSTERERS))
    monkeypatch.setattr(kind_registry, "_KINDS", list(kind_registry._KINDS))
    monkeypatch.setitem(METHODS, "again", None)
    del METHODS["again"]

    def cell(answer):
        @section(order=350)
        def again(page):
            return f"section {answer}"

        plot(again)
        clusterers.clusterer("again")(again)
        baseline("again", title="", scores="")(again)
        kind = type("Again", (InputKind,), {"__module__": __name__, "__qualname__": "Again"})
        return input_kind(kind), again

    cell("first")
    kind, function = cell("second")
    page = ex.to_html(tmp_path / "page.html").read_text()
    assert "section second" in page
    assert "section first" not in page
    assert [one for one in kind_registry._KINDS if one.__name__ == "Again"] == [kind]
    assert (
        registry._PLOTS["again"] is clusterers._CLUSTERERS["again"] is METHODS["again"].function is function
    )

    def other(page):
        return None

    other.__name__ = "again"
    for register in (plot, clusterers.clusterer("again"), baseline("again", title="", scores="")):
        with pytest.raises(
            ValueError, match=r"'again' is already .*again: register .*other under another name"
        ):
            register(other)


def test_a_plot_of_ones_own_is_where_the_others_are(monkeypatch):
    monkeypatch.setattr(registry, "_PLOTS", dict(registry._PLOTS))

    @plot
    def myplot(explanation):
        return explanation

    assert wc.plots.myplot is myplot
    with pytest.raises(AttributeError, match="There is no plot 'myplt': did you mean 'myplot'"):
        wc.plots.myplt  # noqa: B018


def test_a_baseline_that_returns_something_else_is_told_so(ex, monkeypatch):
    for values, told in (
        (lambda asked: asked.points, "method='odd' returned a ndarray, expected a whyclust"),
        (lambda asked: None, "method='odd' returned a NoneType, expected"),
        (
            lambda asked: Attribution.without_base(asked.points[:, :2]),
            r"shape \(150, 2\) .*expected \(150, 4\)",
        ),
        (lambda asked: Attribution(asked.points, asked.points), r"base values of shape \(150, 4\), expected"),
        (lambda asked: Attribution(asked.points[:1], np.zeros(1)), r"values of shape \(1, 4\)"),
    ):
        monkeypatch.setitem(METHODS, "odd", Baseline("odd", values, "", ""))
        with pytest.raises((TypeError, ValueError), match=told):
            wc.explain(KMeans(3, n_init=1, random_state=0).fit(X), X, method="odd")
