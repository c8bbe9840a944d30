"""TELL: its epochs written out, its lengths, and its explanation."""

import copy
import warnings

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.metrics import normalized_mutual_info_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

torch = pytest.importorskip("torch")

import whyclust as wc  # noqa: E402
from whyclust.deep import TELL, MaskAndJitter  # noqa: E402
from whyclust.deep.training.loop import train  # noqa: E402
from whyclust.deep.training.phases import Adadelta, Batch  # noqa: E402
from whyclust.propagate import UnitLength, propagate  # noqa: E402

K, P, D = 4, 3, 5


def built(**settings):
    estimator = TELL(K, embedding_dim=P, hidden=(6,), activation="tanh", **settings)
    return estimator._model(D, torch.Generator().manual_seed(1)).double()


@pytest.fixture
def rows():
    return torch.from_numpy(np.random.default_rng(0).normal(size=(12, D)))


def batch(x, epoch, view=None):
    return Batch(x, torch.arange(len(x)), x, epoch, 0.0, torch.Generator(), view)


def unit(x):
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def literal_clustering(z, W, alpha, lam=0.01):
    """λ/α · mean over B × K of 2 α − δ ∘ (W z), one row and one cluster at a time."""
    total = 0.0
    for i in range(len(z)):
        outputs = [sum(w * one for w, one in zip(row, z[i], strict=True)) for row in W]
        for k in range(len(W)):
            delta = 1.0 if k == int(np.argmax(outputs)) else 0.0
            total += 2 * alpha - delta * outputs[k]
    return lam / alpha * total / (len(z) * len(W))


@pytest.mark.parametrize("epoch", [0, 1])
@pytest.mark.parametrize("alpha", [1e-3, 0.5])
def test_loss_is_the_published_one(rows, epoch, alpha):
    model = built(alpha=alpha)
    terms = {name: float(term.detach()) for name, term in model.loss(batch(rows, epoch)).items()}
    with torch.no_grad():
        z = unit(model.autoencoder.encoder(rows).numpy())
        back = model.autoencoder.decoder(torch.from_numpy(z)).numpy()
    W = model.weight.detach().numpy()
    assert np.abs(np.linalg.norm(W, axis=1) - 2 * alpha).max() < 1e-7
    assert terms["clustering"] == pytest.approx(literal_clustering(z, W, alpha), rel=1e-12)
    assert terms["reconstruction"] == pytest.approx(np.mean((rows.numpy() - back) ** 2), rel=1e-12)
    # With centres of length 1: α ‖z − Ω‖² of the nearest, and 2 α of all others.
    distances = np.square(z[:, None] - model.centers.detach().numpy()).sum(axis=2)
    expected = 0.01 * (distances.min(axis=1).mean() + 2 * (K - 1)) / K
    assert terms["clustering"] == pytest.approx(expected, rel=1e-6)


def slopes(model, rows, epoch):
    model.zero_grad(set_to_none=True)
    sum(model.loss(batch(rows, epoch)).values()).backward()
    encoder = [one.grad.numpy().copy() for one in model.autoencoder.parameters()]
    return encoder, None if model.weight.grad is None else model.weight.grad.numpy().copy()


def test_even_epochs_move_the_centres_and_odd_ones_the_encoder(rows):
    model = built(alpha=0.01)
    even, centre = slopes(model, rows, 0)
    odd, none = slopes(model, rows, 1)
    assert none is None
    # The reconstruction alone.
    model.zero_grad(set_to_none=True)
    z = torch.nn.functional.normalize(model.autoencoder.encoder(rows), dim=1)
    (rows - model.autoencoder.decoder(z)).square().mean().backward()
    alone = [one.grad.numpy() for one in model.autoencoder.parameters()]
    assert max(np.abs(a - b).max() for a, b in zip(even, alone, strict=True)) < 1e-15
    assert max(np.abs(a - b).max() for a, b in zip(odd, alone, strict=True)) > 1e-5
    # −λ/(α B K) Σ z of the members, brought to length 0.2 α.
    members = z.detach().numpy()
    nearest = (members @ model.weight.detach().numpy().T).argmax(axis=1)
    for k in range(K):
        pull = -members[nearest == k].sum(axis=0)
        length = np.linalg.norm(pull)
        expected = 0.2 * 0.01 * pull / length if length else 0 * pull
        assert np.abs(centre[k] - expected).max() < 1e-15


def literal_adadelta(weight, gradient, state, rho=0.9, epsilon=1e-6):
    """Zeiler (2012), algorithm 1."""
    squares, steps = state
    squares = rho * squares + (1 - rho) * gradient**2
    step = np.sqrt(steps + epsilon) / np.sqrt(squares + epsilon) * gradient
    return weight - step, (squares, rho * steps + (1 - rho) * step**2)


def test_training_is_the_literal_one(rows):
    """Four epochs of one batch each, with gradients by autograd and everything else by hand."""
    model, literal = built(alpha=0.01, epochs=4, batch_size=12), built(alpha=0.01)
    progress = train(model, rows, torch.Generator().manual_seed(0))
    names = dict(literal.named_parameters())
    states = dict.fromkeys(names, (0.0, 0.0))
    for epoch in range(4):
        literal.zero_grad(set_to_none=True)
        sum(literal.loss(batch(rows, epoch)).values()).backward()
        for name, tensor in names.items():
            if tensor.grad is None:  # centres of odd epochs
                continue
            moved, states[name] = literal_adadelta(tensor.detach().numpy(), tensor.grad.numpy(), states[name])
            tensor.data = torch.from_numpy(moved)
        literal.weight.data = torch.from_numpy(unit(literal.weight.detach().numpy()) * 0.02)
    for name, tensor in model.named_parameters():
        assert np.abs(tensor.detach().numpy() - names[name].detach().numpy()).max() < 1e-10, name
    assert len(progress.history["clustering"]["reconstruction"]) == 4


def test_adadelta_has_settings_of_its_own():
    optimizer = Adadelta(0.5, rho=0.8, epsilon=1e-4).build([torch.nn.Parameter(torch.ones(2))])
    assert {key: optimizer.defaults[key] for key in ("lr", "rho", "eps")} == {
        "lr": 0.5,
        "rho": 0.8,
        "eps": 1e-4,
    }


def test_centres_without_rows_are_moved_to_the_farthest_row(rows):
    model = built()
    with torch.no_grad():
        z = model.embed(rows)
        model.weight[0] = 0.002 * z[3]
        model.weight[1:] = -0.002 * z.mean(dim=0) / z.mean(dim=0).norm()  # two of them on top of another
        before = model.weight.clone()
        model.revive(rows, 5)
        model.revive(rows, 0)  # nothing has been learned yet
        assert torch.equal(model.weight, before)
        outputs = model.logits(z)
        empty = sorted(set(range(K)) - set(outputs.argmax(dim=1).tolist()))
        model.revive(rows, 10)
    assert int(model.reseeded) == len(empty) > 0
    kept = [k for k in range(K) if k not in empty]
    similarity = (z @ before[kept].T).numpy().max(axis=1)
    assert (
        np.abs(model.weight[empty[0]].detach().numpy() - 0.002 * z[similarity.argmin()].numpy()).max() < 1e-12
    )
    assert torch.equal(model.weight[kept], before[kept])


@torch.no_grad()
def test_two_centres_without_rows_are_moved_to_different_rows(rows):
    """Each to the row that is farthest from all centres with rows and from those that were moved before."""
    model = built()
    z = model.embed(rows).numpy()
    # Of the outputs a and −a one is larger than a hundredth of a: no row is left for the two short centres.
    begun = z[3] * np.array([[0.01], [1.0], [0.01], [-1.0]])
    model.weight.copy_(torch.from_numpy(0.002 * begun))
    members = np.bincount((z @ begun.T).argmax(axis=1), minlength=K)
    assert (members[[1, 3]] > 0).all()
    empty = [0, 2]
    assert not members[empty].any()
    centres = [begun[1], begun[3]]
    model.revive(rows, 10)
    taken = []
    for cluster in empty:
        distances = [min(np.square(row - centre).sum() for centre in centres) for row in z]
        taken.append(int(np.argmax(distances)))
        centres.append(z[taken[-1]])
        np.testing.assert_allclose(model.centers[cluster].numpy(), z[taken[-1]], rtol=1e-6, atol=1e-9)
    assert len(set(taken)) == len(empty)


def test_views_are_pulled_to_where_the_original_belongs(rows):
    model = built(alpha=0.01)
    view = rows.flip(0)
    terms = model.loss(batch(rows, 1, view))
    with torch.no_grad():
        z, seen = (model.embed(x).numpy() for x in (rows, view))
    W = model.weight.detach().numpy()
    nearest = (z @ W.T).argmax(axis=1)
    losses = [
        0.01 / 0.01 * (0.02 - (points @ W.T)[np.arange(12), nearest].sum() / (12 * K)) for points in (z, seen)
    ]
    assert float(terms["clustering"].detach()) == pytest.approx(np.mean(losses), rel=1e-10)


# --- the estimator ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:500] / 16, y[:500]


@pytest.fixture(scope="module")
def fitted(digits):
    return TELL(8, hidden=(32,), epochs=60, batch_size=64, random_state=0).fit(digits[0])


def test_clusters_of_digits(fitted, digits):
    X, y = digits
    assert normalized_mutual_info_score(y, fitted.labels_) > 0.5
    assert np.abs(np.linalg.norm(fitted.cluster_centers_, axis=1) - 1).max() < 1e-5
    z = fitted.transform(X)
    assert np.abs(np.linalg.norm(z, axis=1) - 1).max() < 1e-5
    distances = np.square(z[:, None] - fitted.cluster_centers_).sum(axis=2)
    assert np.array_equal(distances.argmin(axis=1), fitted.labels_)
    expected = np.exp(-fitted.alpha * distances)
    expected /= expected.sum(axis=1, keepdims=True)
    assert np.abs(fitted.predict_proba(X) - expected).max() < 1e-6


def test_relevance_sums_to_the_evidence_and_follows_the_length(fitted, digits):
    X = digits[0][:60]
    ex = wc.explain(fitted, X)
    assert np.array_equal(ex.assigned, fitted.predict(X))
    assert np.abs(ex.values.sum(axis=1) + ex.base_values - ex.explained).max() < 1e-6
    # f_c: the smallest of ‖z − Ω_k‖² − ‖z − Ω_c‖².
    distances = np.square(fitted.transform(X)[:, None] - fitted.cluster_centers_).sum(axis=2)
    ordered = np.sort(distances, axis=1)
    assert np.abs(ex.evidence - (ordered[:, 1] - ordered[:, 0])).max() < 1e-5
    # The same layers without the length, and relevance divided by it.
    c, k = int(ex.clusters[0]), int(ex.competitors[0])
    against = wc.explain(fitted, X[:1], cluster=c, against=k, background=X)
    encoder = fitted.model_.autoencoder.encoder
    with torch.no_grad():
        z = encoder(torch.from_numpy(X[:1].astype(np.float32))).numpy()
    direction = 2 * (fitted.cluster_centers_[c] - fitted.cluster_centers_[k])
    assert against.evidence[0] == pytest.approx(float(direction @ z[0]) / np.linalg.norm(z[0]), rel=1e-4)


@pytest.mark.parametrize("method", ["ig", "gradient_shap", "sensitivity"])
def test_gradients_know_the_length(fitted, digits, method):
    X = digits[0]
    options = {"steps": 200} if method == "ig" else {}
    ex = wc.explain(fitted, X[:20], method=method, background=X, **options)
    assert np.isfinite(ex.values).all()
    if method == "ig":
        assert np.abs(ex.values.sum(axis=1) + ex.base_values - ex.evidence).max() < 0.02


def test_before_another_clustering_and_behind_a_scaler(digits, tmp_path):
    X = digits[0][:150]
    tell = TELL(4, hidden=(12,), epochs=4, batch_size=64, random_state=0)
    model = make_pipeline(StandardScaler(), tell, KMeans(3, n_init=2, random_state=0)).fit(X)
    ex = wc.explain(model, X)
    assert np.array_equal(ex.assigned, model.predict(X))
    assert np.abs(ex.values.sum(axis=1) + ex.base_values - ex.explained).max() < 1e-5
    net = wc.neuralize(model, X)
    loaded = wc.load(wc.save(net, tmp_path / "net.npz"))
    assert np.array_equal(loaded.relevance(X).values, net.relevance(X).values)


@pytest.mark.filterwarnings("ignore:The clusters have collapsed")
def test_augmented_rows_and_presets(digits):
    X = digits[0][:100]
    settings = {"hidden": (8,), "epochs": 3, "batch_size": 32, "random_state": 0}
    plain = TELL(3, **settings).fit(X)
    changed = TELL(3, augment=MaskAndJitter(), **settings).fit(X)
    assert plain.history_ != changed.history_
    assert TELL.preset("mnist").hidden == (500, 500, 2000)
    assert TELL().epochs == 3001
    with pytest.raises(ValueError, match="alpha=0, expected a number above zero"):
        TELL(3, alpha=0).fit(X)


def test_relevance_passes_a_length_as_it_passes_a_weight():
    layer = torch.nn.Sequential(torch.nn.Linear(4, 3, bias=False), UnitLength()).double()
    x = torch.randn(6, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    R = torch.randn(6, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    found = propagate(layer, x, R, rules="zero")
    assert (found - propagate(layer[0], x, R, rules="zero")).abs().max() == 0
    assert (found.sum(dim=1) - R.sum(dim=1)).abs().max() < 1e-10
    assert torch.isfinite(propagate(layer, 0 * x, R)).all()


# --- extreme settings ------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [1e-45, 1e-30, 1e19, 1e30, 1e300])
def test_alphas_that_leave_single_precision_are_refused(rows, alpha):
    with pytest.raises(ValueError, match=r"^alpha=.*, expected a number from 1e-10 to 1e\+10: beyond"):
        TELL(2, alpha=alpha).fit(rows.numpy())


@pytest.mark.parametrize("alpha", [1e-10, 1e-3, 1e10])
def test_centres_have_length_1_for_all_others(digits, alpha):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = TELL(3, alpha=alpha, hidden=(8,), epochs=4, random_state=0).fit(digits[0][:100])
    assert np.abs(np.linalg.norm(model.cluster_centers_, axis=1) - 1).max() < 1e-5


@pytest.mark.filterwarnings("ignore:The clusters have collapsed")
@pytest.mark.parametrize("settings", [{"alpha": 50.0}, {"center_step": 1e-6}])
def test_centres_that_stay_where_they_were_drawn_are_told_of(digits, settings, tmp_path):
    model = TELL(3, hidden=(8,), epochs=20, random_state=0, reseed=False, **settings)
    told = r"The centres have hardly moved: .* Lower alpha \(now .*raise center_step \(now"
    with pytest.warns(UserWarning, match=told):
        model.fit(digits[0][:100])
    np.testing.assert_allclose(model.cluster_centers_, model.model_.first, atol=0.05)
    again = wc.load(wc.save(model, tmp_path / "m.npz"))
    np.testing.assert_array_equal(again.model_.first, model.model_.first)


def test_files_that_do_not_say_where_centres_began(fitted):
    state = {name: tensor for name, tensor in fitted.model_.state_dict().items() if name != "first"}
    model = fitted._model(fitted.n_features_in_, torch.Generator().manual_seed(9))
    model.restore(state)
    torch.testing.assert_close(model.weight, fitted.model_.weight)


def test_an_alpha_for_a_fit_to_come_changes_no_answer(fitted, digits, tmp_path):
    X, model = digits[0][:100], copy.deepcopy(fitted)
    centers, shares = model.model_.centers.detach().clone(), model.predict_proba(X)
    evidence = wc.explain(model, X).evidence
    model.set_params(alpha=0.1)
    again = wc.load(wc.save(model, tmp_path / "m.npz"))
    for one in (model, again):
        torch.testing.assert_close(one.model_.centers, centers)
        np.testing.assert_allclose(one.predict_proba(X), shares, rtol=1e-5)
        np.testing.assert_allclose(wc.explain(one, X).evidence, evidence, rtol=1e-4, atol=1e-6)
