"""Of the embeddings that a linear autoencoder may end with, one is taken: the axes of what is restored."""

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

import whyclust as wc  # noqa: E402
from whyclust.deep import IDC  # noqa: E402
from whyclust.deep.models.linear_embedding import (  # noqa: E402
    linear_ends,
    own_axes,
    share_of_signal,
    take_own_axes,
)
from whyclust.deep.networks.autoencoders import Autoencoder  # noqa: E402

ALONE = {"pretrain_epochs": 0, "gates": False, "random_state": 0, "verbose": None}
# Gates of clusters need more epochs than clusters do.
pytestmark = pytest.mark.filterwarnings("ignore:The gates of")


def planted(sizes, seed, *, width=300):
    """Clusters that each raise twenty columns of their own, in columns of noise."""
    rng = np.random.default_rng(seed)
    y = np.repeat(range(len(sizes)), sizes)
    X = rng.normal(size=(len(y), width))
    for cluster in range(len(sizes)):
        X[y == cluster, 20 * cluster : 20 * cluster + 20] += 2.5
    return ((X - X.mean(axis=0)) / X.std(axis=0)).astype(np.float32), y


def principal(X, width, stretch=None):
    """Principal components as an autoencoder; its encoder stretches what its decoder takes back."""
    axes = PCA(width, random_state=0).fit(X).components_
    stretch = np.eye(width) if stretch is None else stretch
    there, back = nn.Linear(X.shape[1], width, bias=False), nn.Linear(width, X.shape[1], bias=False)
    with torch.no_grad():
        there.weight.copy_(torch.from_numpy(stretch @ axes))
        back.weight.copy_(torch.from_numpy(axes.T @ np.linalg.inv(stretch)))
    return there, back


# --- which axes, and how wide ---------------------------------------------------------------------


def literal_share(variance, noise, n, d):
    """cos² of the angle between rows' coordinates with and without noise, from the singular value.

    Benaych-Georges and Nadakuditi (2012), section 3.1, for a matrix whose short side is c times its long one:
    rows are that side where they are fewer than the columns.
    """
    c, y = min(n, d) / max(n, d), np.sqrt(variance / noise)
    if y <= 1 + np.sqrt(c):
        return 0.0
    theta = np.sqrt((y**2 - 1 - c + np.sqrt((y**2 - 1 - c) ** 2 - 4 * c)) / 2)
    if n <= d:
        return 1 - c * (1 + theta**2) / (theta**2 * (theta**2 + c))
    return 1 - (c + theta**2) / (theta**2 * (theta**2 + 1))


def literal_own_axes(points, units, rows, k):
    """Singular vectors of what is restored: k − 1 of variance 1, and one as far as it is no noise."""
    n, p = points.shape
    left, _, right = np.linalg.svd((points - points.mean(axis=0)) @ units, full_matrices=False)
    centred = rows - rows.mean(axis=0)
    along = (centred @ right[:k].T).var(axis=0)
    noise = (rows.var(axis=0).sum() - along.sum()) / (min(n - 1, rows.shape[1]) - k)
    widest = np.linalg.svd(centred - centred @ right[:k].T @ right[:k])[1][0] ** 2 / n
    noise = max(noise, widest / (1 + np.sqrt(min(rows.shape) / max(rows.shape))) ** 2)
    last = np.sqrt(literal_share(along[-1], noise, n, rows.shape[1]))
    widths = [1.0] * (k - 1) + [max(last, 0.01)] + [0.01] * (p - k)
    return np.sqrt(n) * left[:, :p] * widths[:p]


@pytest.mark.parametrize(("n", "d"), [(60, 200), (300, 40)])
@pytest.mark.parametrize(("p", "k"), [(4, 4), (7, 3), (3, 4), (2, 1)])
@pytest.mark.parametrize(("strength", "beside"), [(0.05, 0.0), (0.25, 0.0), (0.25, 0.3)])
def test_axes_are_those_of_what_is_restored(n, d, p, k, strength, beside):
    rng = np.random.default_rng(4)
    points, units = rng.normal(5.0, 2.0, size=(n, p)), rng.normal(size=(p, d))
    units[:, 5] = 0.0
    rows = strength * points @ units + rng.normal(size=(n, d))
    rows += beside * rng.normal(size=(n, 1)) * rng.normal(size=d)  # of which the embedding knows nothing
    rows[:, 5] = 3.0  # has no noise, and is not counted
    turned = own_axes(*map(torch.from_numpy, (points, units, rows)), k).numpy()
    found = (points - points.mean(axis=0)) @ turned.T
    literal = literal_own_axes(points, np.delete(units, 5, axis=1), np.delete(rows, 5, axis=1), k)
    np.testing.assert_allclose(np.abs(found), np.abs(literal), atol=1e-9)
    np.testing.assert_array_equal(np.abs(found).max(axis=0), found.max(axis=0))  # the farthest is above zero


@pytest.mark.parametrize("widest", [1.0, 30.0, 1000.0])
def test_no_map_that_an_autoencoder_may_end_with_is_seen(widest):
    rng = np.random.default_rng(5)
    points, units = rng.normal(size=(60, 4)), rng.normal(size=(4, 30))
    rows = torch.from_numpy(points @ units + rng.normal(size=(60, 30)))
    turn, back = (np.linalg.qr(rng.normal(size=(4, 4)))[0] for _ in range(2))
    stretch = turn @ np.diag(np.geomspace(1.0, widest, 4)) @ back
    given = [(points, units), (points @ stretch + rng.normal(size=4), np.linalg.solve(stretch, units))]
    one, other = (
        (z - z.mean(axis=0)) @ own_axes(torch.from_numpy(z), torch.from_numpy(unit), rows, 3).numpy().T
        for z, unit in given
    )
    np.testing.assert_allclose(one, other, atol=1e-9)


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_axes_do_not_depend_on_the_unit_of_the_columns(unit):
    rng = np.random.default_rng(6)
    points, units = rng.normal(size=(50, 3)), rng.normal(size=(3, 20))
    rows = points @ units + rng.normal(size=(50, 20))
    one, other = (
        points @ own_axes(*map(torch.from_numpy, (points, scale * units, scale * rows)), 3).numpy().T
        for scale in (1.0, unit)
    )
    np.testing.assert_allclose(one, other, atol=1e-9)


def test_axes_that_restore_next_to_nothing_are_not_made_wide():
    """A dimension that hardly varies is not stretched until it does, nor one that repeats another."""
    rng = np.random.default_rng(6)
    basis = np.linalg.qr(np.column_stack([np.ones(50), rng.normal(size=(50, 3))]))[0][:, 1:] * np.sqrt(50)
    for part, width in ((1.2e-4, 1.0), (0.25e-4, 0.5), (0.0, 0.0)):
        given = torch.from_numpy(basis * [1.0, 1.0, np.sqrt(part)])
        found = given @ own_axes(given, torch.eye(3).double(), given, 4).T
        np.testing.assert_allclose(found.numpy().std(axis=0), [1, 1, width], atol=1e-9)
    twice = torch.from_numpy(np.column_stack([basis[:, :2], basis[:, :2].sum(axis=1)]))
    found = (twice @ own_axes(twice, torch.eye(3).double(), twice, 4).T).numpy()
    np.testing.assert_allclose(found.std(axis=0), [1, 1, 0], atol=1e-6)
    alike = torch.full((70, 3), 0.1).double()
    np.testing.assert_array_equal(own_axes(alike, torch.eye(3).double(), alike, 3), np.eye(3))


@pytest.mark.parametrize(("n", "d"), [(300, 1200), (1200, 300)])
@pytest.mark.parametrize("strength", [0.3, 0.9, 1.5, 3.0])
def test_the_share_of_signal_is_what_is_found_in_large_tables(n, d, strength):
    """One axis of known strength in noise: how well do its coordinates agree with those that were planted?"""
    shares, true = [], []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        there, across = rng.normal(size=n), rng.normal(size=d)
        there, across = there / np.linalg.norm(there), across / np.linalg.norm(across)
        # Noise of singular values between 1 − √c and 1 + √c, with a mean square of 1.
        rows = strength * np.outer(there, across) + rng.normal(size=(n, d)) / np.sqrt(max(n, d))
        left, singular, _ = np.linalg.svd(rows, full_matrices=False)
        shares.append(share_of_signal(singular[0] ** 2, np.mean(singular[1:] ** 2), n, d))
        true.append((left[:, 0] @ there) ** 2)
    assert np.mean(shares) == pytest.approx(np.mean(true), abs=0.04)


@pytest.mark.parametrize(("n", "d"), [(60, 300), (300, 60), (60, 60)])
def test_share_of_signal(n, d):
    edge = (1 + np.sqrt(min(n, d) / max(n, d))) ** 2
    for variance in (0.5, 0.999 * edge, 1.001 * edge, 1.2 * edge, 3 * edge, 100 * edge):
        literal = literal_share(variance, 1.0, n, d)
        assert share_of_signal(variance, 1.0, n, d) == pytest.approx(literal, abs=1e-12)
        assert share_of_signal(7 * variance, 7.0, n, d) == pytest.approx(literal, abs=1e-12)
        assert (literal > 0) == (variance > edge)


@pytest.mark.parametrize(("n", "d", "noise"), [(4, 9, 0.5), (9, 3, 0.5), (40, 50, 0.0)])
def test_where_nothing_is_known_of_noise_no_axis_is_taken_for_it(n, d, noise):
    """As many axes as there can be, or all of the rows restored."""
    rng = np.random.default_rng(0)
    points, units = (torch.from_numpy(rng.normal(size=size)) for size in ((n, 3), (3, d)))
    rows = points @ units + noise * torch.from_numpy(rng.normal(size=(n, d)))
    found = (points @ own_axes(points, units, rows, 3).T).numpy()
    np.testing.assert_allclose(found.std(axis=0), 1.0, rtol=1e-9)


# --- the autoencoder ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("there", "back"),
    [
        (nn.Linear(20, 3), nn.Linear(3, 20)),
        (nn.Linear(20, 3, bias=False), nn.Sequential(nn.Identity(), nn.Linear(3, 20))),
        (
            nn.Sequential(nn.Linear(20, 9), nn.Sequential(nn.Linear(9, 3), nn.Identity())),
            nn.Sequential(nn.Linear(3, 8), nn.Linear(8, 20)),
        ),
        (
            nn.Sequential(nn.Unflatten(1, (4, 5)), nn.Flatten(), nn.Linear(20, 3)),
            nn.Sequential(nn.Linear(3, 20), nn.Unflatten(1, (4, 5)), nn.Flatten()),
        ),
        (nn.Linear(20, 3), nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 20))),  # restores two dimensions
    ],
)
def test_what_is_restored_stays(there, back):
    torch.manual_seed(0)
    pair = Autoencoder(there, back, 3).double()
    rows = torch.from_numpy(np.random.default_rng(0).normal(1.0, size=(50, 20)) * np.geomspace(1, 5, 20))
    with torch.no_grad():
        before, z = pair(rows)[1], pair.encoder(rows)
        ends = linear_ends(pair)
        take_own_axes(pair, ends, z, rows, 2)
        again, turned = pair(rows)[1], pair.encoder(rows)
    np.testing.assert_allclose(again, before, atol=1e-9)
    correlated = np.corrcoef(turned.numpy()[:, :2].T)
    np.testing.assert_allclose(correlated, np.eye(2), atol=1e-9)
    assert not np.allclose(np.corrcoef(z.numpy().T)[0, 1], 0, atol=1e-3)


class _Other(nn.Sequential):
    def forward(self, x):
        return super().forward(x).relu()


def _shared():
    layer = nn.Linear(2, 2)
    return layer, nn.Sequential(layer, nn.Linear(2, 2))


def _hooked(layer=None):
    layer = nn.Linear(4, 2) if layer is None else layer
    layer.register_forward_hook(lambda module, inputs, output: output.relu())
    return layer, nn.Linear(2, 4)


def _hooked_before():
    layer = nn.Linear(4, 2)
    layer.register_forward_pre_hook(lambda module, inputs: inputs[0].relu())
    return layer, nn.Linear(2, 4)


@pytest.mark.parametrize(
    ("there", "back"),
    [
        (nn.Sequential(nn.Linear(4, 2), nn.ReLU()), nn.Linear(2, 4)),
        (nn.Linear(4, 2), nn.Sequential(nn.Tanh(), nn.Linear(2, 4))),
        (nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.Linear(3, 2)), nn.Linear(2, 4)),
        (_Other(nn.Linear(4, 2)), nn.Linear(2, 4)),
        (nn.utils.parametrizations.orthogonal(nn.Linear(4, 2)), nn.Linear(2, 4)),
        (nn.Identity(), nn.Linear(2, 2)),
        (nn.Linear(2, 2), nn.Identity()),
        _shared(),
        _hooked(),
        _hooked(nn.Sequential(nn.Linear(4, 2))),
        _hooked_before(),
        # A layer that sees a part of a row at a time.
        (
            nn.Sequential(nn.Unflatten(1, (2, 2)), nn.Linear(2, 1), nn.Flatten()),
            nn.Sequential(nn.Unflatten(1, (2, 1)), nn.Linear(1, 2), nn.Flatten()),
        ),
    ],
)
def test_other_autoencoders_stay_as_they_are(there, back):
    assert linear_ends(Autoencoder(there, back, 2)) is None


def test_a_decoder_that_is_not_finite_is_told():
    X, _ = planted([20, 10], 0, width=60)
    there, back = principal(X, 3)
    with torch.no_grad():
        back.weight[0, 0] = np.nan
    with pytest.raises(FloatingPointError, match="embedding is not finite"):
        IDC(2, autoencoder=(there, back), epochs=3, **ALONE).fit(X)


# --- clusters -------------------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", [(50, 8, 8), (56, 10), (100, 12, 12, 12, 12)])
def test_small_clusters_are_found_beside_large_ones(sizes):
    """Means of k clusters have k − 1 axes: a k-th one is of noise, and must not be as wide as these."""
    X, y = planted(sizes, 0)
    k = len(sizes)
    model = IDC(k, autoencoder=principal(X, k), epochs=40, **ALONE).fit(X)
    assert adjusted_rand_score(y, model.labels_) == 1.0
    widths = model.transform(X).std(axis=0)
    np.testing.assert_allclose(widths, [1.0] * (k - 1) + [0.01], rtol=1e-4)


def test_clusters_are_found_beside_something_else_that_is_wider():
    """A batch, say, takes one of the k − 1 axes: the k-th is not lost, as it is no noise."""
    X, y = planted((22, 22, 22), 0)
    X[:, 200:230] += 1.5 * np.random.default_rng(1).normal(size=(66, 1))
    X = ((X - X.mean(axis=0)) / X.std(axis=0)).astype(np.float32)
    model = IDC(3, autoencoder=principal(X, 3), epochs=40, **ALONE).fit(X)
    assert adjusted_rand_score(y, model.labels_) == 1.0
    assert 0.8 < model.transform(X).std(axis=0)[2] < 1.0


def test_the_fit_does_not_see_what_the_encoder_stretches():
    X, y = planted((30, 20, 16), 1)
    plain, stretched = (
        IDC(3, autoencoder=principal(X, 3, stretch), epochs=40, **ALONE).fit(X)
        for stretch in (np.eye(3), np.diag([1.0, 30.0, 1000.0]))
    )
    np.testing.assert_allclose(plain.transform(X), stretched.transform(X), atol=1e-3)
    np.testing.assert_array_equal(plain.labels_, stretched.labels_)
    assert plain.scores_ == pytest.approx(stretched.scores_, rel=1e-3)
    assert adjusted_rand_score(y, plain.labels_) == 1.0


def test_noise_of_columns_that_correlate_is_no_axis_of_clusters():
    """As genes do, in tens here: their noise has wider axes than that of columns of their own."""
    rng = np.random.default_rng(2)
    y = np.repeat([0, 1], [56, 10])
    common = np.repeat(rng.normal(size=(66, 30)), 10, axis=1)
    X = np.sqrt(0.3) * common + np.sqrt(0.7) * rng.normal(size=(66, 300))
    for cluster in range(2):
        X[y == cluster, 20 * cluster : 20 * cluster + 20] += 3.0
    X = ((X - X.mean(axis=0)) / X.std(axis=0)).astype(np.float32)
    model = IDC(2, autoencoder=principal(X, 2), epochs=40, **ALONE).fit(X)
    assert adjusted_rand_score(y, model.labels_) == 1.0


def test_axes_are_those_of_gated_rows():
    X, y = planted((30, 20, 16), 1)
    model = IDC(3, epochs=40, **ALONE | {"pretrain_epochs": 100, "gates": True}).fit(X)
    widths = model.transform(X).std(axis=0)
    np.testing.assert_allclose(widths[:2], 1.0, rtol=1e-4)
    assert adjusted_rand_score(y, model.labels_) == 1.0


def test_linear_autoencoders_of_other_tables_have_their_own_axes_too():
    X, _ = planted((60, 40, 30), 0, width=80)
    model = IDC(3, hidden=(), epochs=10, **ALONE | {"pretrain_epochs": 30}).fit(X)
    np.testing.assert_allclose(model.transform(X).std(axis=0)[:2], 1.0, rtol=1e-4)


def test_a_fitted_autoencoder_learns_on_from_where_it_is():
    """Weights of 1e-4 before a decoder of large ones would be lost in the first step."""
    X, _ = planted((30, 20, 16), 1)
    donor = IDC(3, embedding_dim=6, epochs=10, **ALONE | {"pretrain_epochs": 60}).fit(X)
    before = {name: tensor.clone() for name, tensor in donor.model_.state_dict().items()}
    model = IDC(3, autoencoder=donor, epochs=10, **ALONE | {"pretrain_epochs": 20}).fit(X)
    restored = np.abs(donor.decode(donor.transform(X)) - X).sum(axis=1).mean()
    assert max(model.history_["denoising"]["clean"]) < 1.02 * restored
    for name, tensor in donor.model_.state_dict().items():
        assert torch.equal(tensor, before[name])


@pytest.mark.parametrize("coding", ["weighted", "printed"])
@pytest.mark.filterwarnings("ignore:The clusters have collapsed")
def test_embeddings_that_are_seen_from_zero_stay_as_they_are(coding):
    X, _ = planted((20, 10), 0, width=60)
    there, back = principal(X, 2)
    model = IDC(2, autoencoder=(there, back), epochs=2, coding=coding, **ALONE).fit(X)
    with torch.no_grad():
        given = there(torch.from_numpy(X)).numpy()
    np.testing.assert_array_equal(model.transform(X), given)


def test_a_model_of_own_axes_is_explained_and_kept(tmp_path):
    X, y = planted((30, 20, 16), 1)
    model = IDC(3, epochs=40, **ALONE | {"pretrain_epochs": 100}).fit(X)
    assert adjusted_rand_score(y, model.labels_) == 1.0
    again = wc.load(wc.save(model, tmp_path / "model.npz"))
    np.testing.assert_array_equal(again.transform(X), model.transform(X))
    ex = wc.explain(again, X)
    assert (ex.clusters == model.labels_).all()
    np.testing.assert_allclose(ex.values.sum(axis=1) + ex.base_values, ex.explained, atol=1e-9)
