"""A baseline is one function and one registration: explain, audit and the docs know it from there."""

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

import whyclust as wc
from whyclust.baselines import METHODS, Attribution, baseline, options_of
from whyclust.perturbing.imputation import KernelDensity

DOCS = Path(__file__).parents[1] / "docs" / "baselines.md"
X, _ = make_blobs(60, centers=3, n_features=4, random_state=1)
MODEL = KMeans(3, n_init=3, random_state=0).fit(X)


@pytest.fixture
def toy():
    """A baseline from outside of the package, for the time of a test."""

    @baseline("toy", title="how far from the mean", scores="|x − x̄|", usual=True, audited_with={"power": 2.0})
    def far_from_the_mean(asked, *, power=1.0):
        return Attribution.without_base(np.abs(asked.points - asked.background.mean(axis=0)) ** power)

    yield far_from_the_mean
    del METHODS["toy"]


def test_a_baseline_from_outside_is_a_method(toy):
    ex = wc.explain(MODEL, X, method="toy")
    assert (ex.rule, options_of("toy")) == ("toy", ["power"])
    np.testing.assert_array_equal(ex.values, np.abs(X - X.mean(axis=0)))
    cubed = wc.explain(MODEL, X[:5], method="toy", background=X, power=3)
    np.testing.assert_array_equal(cubed.values, np.abs(X - X.mean(axis=0))[:5] ** 3)
    with pytest.raises(TypeError, match="method='toy' has no option 'steps': its options are power"):
        wc.explain(MODEL, X, method="toy", steps=3)


def test_a_baseline_from_outside_is_a_candidate_of_the_audit(toy):
    found = wc.audit(MODEL, X, n_repeats=2, n_refits=0).methods.set_index("method")
    assert found.loc["toy", "what"] == "how far from the mean"
    # With the options that it was registered with, it does what `squared` does.
    assert found.loc["toy", "auc"] == found.loc["squared", "auc"]
    named = wc.audit(MODEL, X, methods=["toy"], n_repeats=2, n_refits=0)
    assert set(named.methods["method"]) == {"neon", "toy", "random"}


def test_it_is_gone_afterwards():
    with pytest.raises(ValueError, match="method='toy' is unknown, expected one of neon, random"):
        wc.explain(MODEL, X, method="toy")
    with pytest.raises(ValueError, match="methods names 'toy', which is unknown"):
        wc.audit(MODEL, X, methods=["toy"])


@pytest.mark.parametrize("name", ["neon", "ig"])
def test_names_are_not_given_twice(name):
    with pytest.raises(
        ValueError, match=rf"'{name}' is (already whyclust\.baselines\.|no baseline).*another name"
    ):
        baseline(name, title="", scores="")(lambda asked: None)


def test_the_docs_list_what_is_registered():
    def told(name, value):
        return f"`{name}={json.dumps(value) if isinstance(value, str) else value}`"

    lines = DOCS.read_text(encoding="utf-8").splitlines()
    first = lines.index("|---|---|---|") + 2  # after NEON
    wanted = []
    for name, one in METHODS.items():
        options = ", ".join(told(*pair) for pair in one.options.items())
        wanted.append(f'| `"{name}"` | {one.scores} | {options + " " if options else ""}|')
    assert lines[first : lines.index("", first)] == wanted
    needy = [f'`"{name}"`' for name, one in METHODS.items() if one.needs == "shap"]
    assert f"{', '.join(needy[:-1])} and {needy[-1]} need shap" in "\n".join(lines)


def test_an_audit_fits_one_density_and_reads_its_table_once_for_all_methods(monkeypatch):
    fits, reads = [], []
    fit, read = KernelDensity.fit.__func__, wc.network.Neuralized.read

    def counted_fit(cls, rows, **options):
        fits.append(rows)
        return fit(cls, rows, **options)

    def counted_read(net, rows, name="X"):
        reads.append(name)
        return read(net, rows, name)

    monkeypatch.setattr(KernelDensity, "fit", classmethod(counted_fit))
    monkeypatch.setattr(wc.network.Neuralized, "read", counted_read)
    methods = ["ig", "pda_zero", "pda_kde", "squared", "sensitivity", "nca"]
    wc.audit(MODEL, X, methods=methods, n_repeats=2, n_refits=2)
    assert len(fits) == 1
    assert reads == ["background"]
