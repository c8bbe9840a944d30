"""What a clustering ignores, written out: s = ‖β_ss ⊙ Vᵀ(z − μ)‖², column by column, one row at a time."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

torch = pytest.importorskip("torch")

import whyclust as wc  # noqa: E402
from whyclust.datasets import make_synth  # noqa: E402
from whyclust.deep import DCN, ACeDeC  # noqa: E402
from whyclust.propagate import Centered, Gamma, propagate  # noqa: E402

nn = torch.nn

pytestmark = pytest.mark.filterwarnings("ignore:The (clusters|spaces) have collapsed")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 5)) @ RNG.normal(size=(5, 5)) * [1.0, 3.0, 0.2, 1.0, 9.0] + [
    3.0,
    -20.0,
    0.5,
    0.0,
    7.0,
]


def fitted(*before, hidden=(), **own):
    """A fit without training, after which V, β and μ are set to what says most."""
    base = DCN(3, hidden=hidden, embedding_dim=4, epochs=0, pretrain_epochs=0, random_state=0)
    model = ACeDeC(base, space_epochs=0, **own)
    whole = make_pipeline(*before, model) if before else model
    whole.fit(X)
    space = model.model_.space
    drawn = torch.from_numpy(np.random.default_rng(1).normal(size=(4, 4)))
    rotation = torch.linalg.qr(drawn).Q if own else torch.eye(4) + 0.3 * drawn  # any V, unless it is bound
    space.assign(rotation, torch.tensor([0.9, 0.5, 0.7, 0.2]))
    if own:
        with torch.no_grad():
            space.turn.angles.copy_(0.3 * drawn)
    space.middle.copy_(torch.tensor([0.5, -1.0, 2.0, 0.1]))  # as little the mean as anything
    return whole, model


def score(model, z):
    """s of one embedded row, and half of its gradient."""
    v, shares = model.rotation_, 1.0 - model.cluster_weights_
    away = z - model.model_.space.middle.double().numpy()
    turned = [sum(v[j, i] * away[j] for j in range(4)) for i in range(4)]
    s = sum((shares[i] * turned[i]) ** 2 for i in range(4))
    half = np.array([sum(v[j, i] * shares[i] ** 2 * turned[i] for i in range(4)) for j in range(4)])
    return s, half


LINEAR = {
    "plain": lambda: fitted(),
    "exact": lambda: fitted(orthogonal="exact"),
    "scaled": lambda: fitted(StandardScaler()),
    "turned": lambda: fitted(StandardScaler(), PCA(4)),
}


@pytest.mark.parametrize("make", LINEAR.values(), ids=LINEAR)
def test_a_linear_encoder_gives_the_shapley_value(make):
    """(x − m) ⊙ ½ (∇s(x) + ∇s(m)) and s(m), m the means of the columns."""
    whole, model = make()
    (layer,) = model.model_.encoder
    weight, bias = layer.weight.detach().double().numpy(), layer.bias.detach().double().numpy()
    steps = list(whole[:-1]) if whole is not model else []
    matrix, offset = np.eye(5), np.zeros(5)
    for step in steps:
        turn = np.diag(1 / step.scale_) if isinstance(step, StandardScaler) else step.components_
        matrix, offset = turn @ matrix, turn @ (offset - step.mean_)
    # The model knows means of what it gets, in single precision: the row nearest the mean that gives them.
    mean = X.mean(axis=0)
    mean = mean + np.linalg.pinv(matrix) @ (model.feature_means_ - matrix @ mean - offset)
    np.testing.assert_allclose(mean, X.mean(axis=0), rtol=1e-6, atol=1e-6)
    matrix, offset = weight @ matrix, weight @ offset + bias
    found = wc.explain(whole, X, space="shared")
    at_mean, half_at_mean = score(model, matrix @ mean + offset)
    assert at_mean > 1e-3
    for row, x in enumerate(X):
        s, half = score(model, matrix @ x + offset)
        expected = (x - mean) * (matrix.T @ (half + half_at_mean))
        size = max(1.0, s)
        assert np.abs(found.values[row] - expected).max() < 1e-10 * size
        assert abs(found.base_values[row] - at_mean) < 1e-10 * size
        assert abs(found.evidence[row] - s) < 1e-10 * size
        assert found.explained[row] == found.evidence[row]
    assert np.abs(found.values).max() > 1.0


@pytest.mark.parametrize("before", [[], [StandardScaler()]])
def test_other_encoders_pass_on_a_linear_head(before):
    """The head of each row is w = V β_ss² Vᵀ(z − μ); what its relevance is at x, less than at the means."""
    whole, model = fitted(*before, hidden=(6,))
    encoder = model.model_.encoder
    last = encoder[-1]
    weight, bias = last.weight.detach().double().numpy(), last.bias.detach().double().numpy()
    mean = torch.from_numpy(model.feature_means_).float()
    rules = {"0": Centered(mean, Gamma(0.01)), nn.Module: Gamma(0.01)}
    given = whole[:-1].transform(X) if before else X
    found = wc.explain(whole, X, space="shared")
    for row in range(0, 40, 5):
        x = torch.from_numpy(given[row : row + 1]).float()
        with torch.no_grad():
            activations = encoder[:-1](x).double().numpy()[0]
            usual = encoder[:-1](mean[None]).double().numpy()[0]
        s, half = score(model, weight @ activations + bias)
        slopes = weight.T @ half
        parts = [
            propagate(encoder[:-1], at, torch.from_numpy((slopes * a)[None]).float(), rules=rules)
            for at, a in ((x, activations), (mean[None], usual))
        ]
        expected = (parts[0] - parts[1]).numpy()[0]
        size = np.abs(expected).max()
        np.testing.assert_allclose(found.values[row], expected, rtol=0, atol=1e-5 * size)
        assert found.evidence[row] == pytest.approx(s, rel=1e-5)
        assert found.explained[row] == found.evidence[row]
        assert found.base_values[row] == pytest.approx(s - expected.sum(), abs=1e-5 * (s + size))
        assert size > 0.01


def test_noise_is_what_is_ignored():
    """SYNTH-25 with the spaces that a long fit finds: two directions for clusters, 25 for noise."""
    table, _ = make_synth(200, n_noise_dimensions=25, random_state=0)
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(27, 27)))[0]
    pair = nn.Linear(27, 27), nn.Linear(27, 27)
    base = DCN(4, autoencoder=pair, epochs=0, pretrain_epochs=0, random_state=0)
    model = ACeDeC(base, space_epochs=0, start="random", starts=1).fit(table)
    with torch.no_grad():
        encoder, space = model.model_.encoder, model.model_.space
        encoder.weight.copy_(torch.from_numpy(turn))
        encoder.bias.zero_()
        space.assign(torch.from_numpy(turn), torch.tensor([0.98] * 2 + [0.5] * 25))
        space.middle.copy_(encoder(torch.from_numpy(table).float()).mean(dim=0))
    sizes = np.abs(wc.explain(model, table, space="shared").values).sum(axis=0)
    assert sizes[2:].sum() > 0.9 * sizes.sum()


def test_groups_are_of_columns_as_they_were_named():
    """Names that are given with an array are those that groups are made of."""
    model = fitted()[0]
    plain = wc.explain(model, X, space="shared").values
    named = {"space": "shared", "feature_names": list("pqrst")}
    found = wc.explain(model, X, groups={"both": ["p", "s"]}, **named)
    assert list(found.feature_names) == ["both", "q", "r", "t"]
    expected = np.c_[plain[:, 0] + plain[:, 3], plain[:, [1, 2, 4]]]
    np.testing.assert_allclose(found.values, expected, rtol=1e-12, atol=1e-12 * np.abs(plain).max())
    assert list(wc.explain(model, X, **named).feature_names) == list("pqrst")


def test_channels_of_a_pixel_are_summed_in_pictures():
    pytest.importorskip("matplotlib", reason="needs matplotlib")
    images = np.random.default_rng(0).normal(size=(30, 48))
    base = DCN(3, hidden=(), embedding_dim=4, epochs=0, pretrain_epochs=0, random_state=0)
    model = ACeDeC(base, space_epochs=0).fit(images)
    figure = wc.plots.used_and_ignored(model, images, 5, image_shape=(3, 4, 4))
    for axis, space in zip(figure.axes[1:3], ("cluster", "shared"), strict=True):
        values = wc.explain(model, images, space=space).values[5].reshape(3, 16)
        expected = (values[0] + values[1] + values[2]) / np.abs(values).sum()
        np.testing.assert_allclose(axis.images[0].get_array().ravel(), expected, atol=1e-5)


ASKED = {
    "ask": lambda ex: ex.ask(cluster=1),
    "scores": lambda ex: ex.scores(),
    "rules": lambda ex: ex.rules(),
    "smallest_changes": lambda ex: ex.smallest_changes(),
    "smallest_change": lambda ex: ex.smallest_change(0),
}


@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)
def test_clusters_cannot_be_asked_about_where_they_are_not_compared(ask):
    found = wc.explain(fitted()[0], X, space="shared")
    with pytest.raises(ValueError, match=r"tells what the clustering ignores.*wc\.explain\(model, X\)"):
        ask(found)


@pytest.mark.parametrize("space", ["cluster", "shared"])
def test_columns_and_words_are_as_in_other_explanations(space):
    """Columns that a pipeline drops are no features, a frozen model is one, and zeros may go unshown."""
    table = pd.DataFrame(X, columns=list("abcde"))
    base = DCN(3, hidden=(), embedding_dim=3, epochs=1, pretrain_epochs=1, random_state=0)
    chosen = ColumnTransformer([("scale", StandardScaler(), ["a", "c", "d"])])
    whole = make_pipeline(chosen, ACeDeC(base, space_epochs=1)).fit(table)
    ex = wc.explain(whole, table, space=space)
    assert ex.feature_names == ["a", "c", "d"] == wc.explain(whole, table).feature_names
    assert np.abs(ex.values.sum(axis=1) + ex.base_values - ex.explained).max() < 1e-10
    assert not wc.explain(whole, table, space=space, absent=False).absent
    frozen = make_pipeline(whole[0], FrozenEstimator(whole[1]))
    np.testing.assert_array_equal(wc.explain(frozen, table, space=space).values, ex.values)
    drawn = wc.plots.spaces(
        make_pipeline(StandardScaler().fit(X[:, :3]), FrozenEstimator(whole[1])), X[:, :3]
    )
    assert drawn.axes
