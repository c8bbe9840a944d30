"""Label-free importance against its definition, with gradients of the encoder itself."""

import re

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, load_wine
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

torch = pytest.importorskip("torch")

import whyclust as wc  # noqa: E402
from whyclust.deep import DCN, TELL, ACeDeC, CNet  # noqa: E402

SMALL = {"hidden": (12,), "batch_size": 64, "random_state": 0, "epochs": 2}


@pytest.fixture(scope="module")
def digits():
    return load_digits().data[:200] / 16


def integrated(f, x0, reference, steps):
    """∫ ∇_x ⟨f(x), f(x₀)⟩ along the line from the reference to x₀, by the midpoint rule (Def. 2.1)."""
    fixed = f(torch.from_numpy(x0[None])).detach()
    total = np.zeros_like(x0)
    for step in range(steps):
        x = torch.from_numpy(reference + (step + 0.5) / steps * (x0 - reference))[None].requires_grad_()
        (f(x) * fixed).sum().backward()
        total += x.grad[0].numpy()
    return (x0 - reference) * total / steps


MODELS = [
    DCN(4, pretrain_epochs=2, **SMALL),
    CNet(4, **SMALL),
    TELL(4, **SMALL),
    ACeDeC(DCN(4, pretrain_epochs=2, **SMALL), space_epochs=2, starts=2),
]


@pytest.mark.filterwarnings("ignore:The (clusters|spaces) have collapsed", "ignore:The mean evidence")
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_equals_the_definition_for_encoders(digits, model):
    model = model.fit(digits)
    ex = wc.explain(model, digits[:5], method="label_free", steps=7, background=digits)
    encoder = model.model_.encoder.double()
    reference = digits.mean(axis=0)
    for row in range(5):
        expected = integrated(encoder, digits[row], reference, 7)
        assert np.abs(ex.values[row] - expected).max() < 1e-5 * np.abs(expected).max()
    with torch.no_grad():
        own, start = (encoder(torch.from_numpy(x)).numpy() for x in (digits[:5], reference[None]))
    assert np.abs(ex.base_values - own @ start[0]).max() < 1e-5 * np.abs(own @ start[0]).max()
    model.model_.float()
    # Complete: with more steps values and base sum to ‖f(x₀)‖².
    fine = wc.explain(model, digits[:5], method="label_free", steps=300, background=digits)
    squares = np.square(own).sum(axis=1)
    assert np.abs(fine.explained - squares).max() < 1e-2 * squares.max()


@pytest.mark.filterwarnings("ignore:The clusters have collapsed", "ignore:The mean evidence")
def test_behind_a_scaler_before_another_clustering_and_from_a_file(digits, tmp_path):
    model = DCN(4, pretrain_epochs=2, **SMALL)
    scaled = StandardScaler().fit_transform(digits)
    inside = wc.explain(model.fit(scaled), scaled[:5], method="label_free", background=scaled)
    behind = make_pipeline(StandardScaler(), model).fit(digits)
    ex = wc.explain(behind, digits[:5], method="label_free", background=digits)
    assert np.abs(ex.values - inside.values).max() < 1e-4 * np.abs(inside.values).max()
    before = make_pipeline(StandardScaler(), model, KMeans(3, n_init=1, random_state=0)).fit(digits)
    other = wc.explain(before, digits[:5], method="label_free", background=digits)
    assert np.abs(ex.values - other.values).max() < 1e-4 * np.abs(ex.values).max()
    loaded = wc.load(wc.save(wc.neuralize(behind, digits), tmp_path / "net.npz"))
    again = wc.explain(loaded, digits[:5], method="label_free", background=digits)
    assert np.array_equal(again.values, ex.values)


@pytest.mark.parametrize("steps", [[], [StandardScaler()], [StandardScaler(), PCA(3)]], ids=len)
def test_without_an_encoder_it_is_what_clusters_are_compared_in(steps):
    X = load_wine().data
    model = make_pipeline(*steps, KMeans(3, n_init=1, random_state=0)).fit(X)
    ex = wc.explain(model, X, method="label_free", steps=1)
    f = (lambda x: x) if not steps else model[:-1].transform
    own, origin = f(X), f(np.zeros((1, 13)))
    slopes = f(np.eye(13)) - origin  # affine: the gradient is A f(x₀), everywhere
    expected = (X - X.mean(axis=0)) * (own @ slopes.T)
    assert np.abs(ex.values - expected).max() < 1e-9 * np.abs(expected).max()
    assert np.abs(ex.explained - np.square(own).sum(axis=1)).max() < 1e-9 * np.square(own).sum(axis=1).max()


def test_behind_a_row_norm():
    X = load_wine().data[:40, :5]
    model = make_pipeline(Normalizer(), KMeans(3, n_init=1, random_state=0)).fit(X)
    ex = wc.explain(model, X, method="label_free", steps=200)
    # ‖f(x₀)‖ = 1.
    assert np.abs(ex.explained - 1).max() < 1e-3


def test_bad_options():
    X = load_wine().data
    model = KMeans(3, n_init=1, random_state=0).fit(X)
    with pytest.raises(ValueError, match="steps=0, expected a whole number"):
        wc.explain(model, X, method="label_free", steps=0)
    with pytest.raises(
        TypeError, match=r"method='label_free' has no option 'n_samples': its options are steps"
    ):
        wc.explain(model, X, method="label_free", n_samples=3)


@pytest.mark.parametrize(
    ("method", "measures"),
    [
        ("label_free", "importance for the embedding"),
        ("squared", "squared distance from the mean"),
        ("random", "random score"),
    ],
)
def test_what_knows_no_clusters_sets_none_apart(method, measures, tmp_path):
    data = load_wine(as_frame=True).data
    model = make_pipeline(StandardScaler(), KMeans(3, n_init=1, random_state=0)).fit(data)
    found = wc.explain(model, data, method=method)
    found = wc.load(found.save(tmp_path / "found.npz"))
    told = f"Largest by {measures}, which knows no clusters: "
    for line in found.describe().split("\n"):
        assert f" rows. {told}" in line
        assert "Its mean" not in line
        assert re.match(r"Cluster \d holds", line)  # no name from columns that are no reason
        assert "relevance" not in line
    row = found[0].describe(top=2)
    assert f". {told}" in row
    assert "For cluster" not in row
    assert "Against" not in row
    assert f">largest by {measures}, which knows no clusters</th>" in found._repr_html_()
    page = found.to_html(tmp_path / "found.html").read_text(encoding="utf-8")
    assert f"Largest by {measures}, which knows no clusters</h3>" in page
    assert f"The value of a column is its {measures}" in page
    assert "Why rows are" not in page
    assert "handed back to the columns" not in page
    assert "On average a row's evidence" not in page
    # A method of the clusters' evidence is told as ever.
    assert "Its mean" in wc.explain(model, data, method="ig").describe()
