"""Selectors against literal forms of their papers' equations, and as steps before a clustering."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.linalg
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.cluster import DBSCAN, KMeans
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import whyclust as wc
import whyclust.select
from whyclust.cluster import SubKMeans
from whyclust.select import DUFS, MCFS, SRCFS, ConcreteAutoencoder, LaplacianScore, RelevanceSelector, mcfs
from whyclust.select.graphs import neighbour_graph
from whyclust.select.mcfs import flat_embedding
from whyclust.select.relevance_selector import kept_after
from whyclust.select.srcfs import partitions

KINDS = [getattr(whyclust.select, name) for name in whyclust.select.__all__]
SHORT = {DUFS: {"epochs": 2}, ConcreteAutoencoder: {"epochs": 2, "hidden": (8,)}}
SPARSE = [LaplacianScore, SRCFS, RelevanceSelector]
INFORMATIVE = [3, 11, 17]


def short(kind, **settings):
    if "random_state" in kind().get_params():
        settings.setdefault("random_state", 0)
    return kind(**SHORT.get(kind, {}), **settings)


@pytest.fixture
def planted():
    """Three clusters in three of thirty columns; the others are noise."""
    rng = np.random.default_rng(1)
    labels = np.repeat([0, 1, 2], 40)
    X = rng.normal(size=(120, 30))
    X[:, INFORMATIVE] += 8.0 * np.array([[0, 1, 1], [1, 0, 1], [1, 1, 0]])[labels]
    return X


@pytest.fixture
def table():
    return np.random.default_rng(0).normal(size=(40, 12)) * np.arange(1, 13)


# --- literal forms -------------------------------------------------------------------------------


def literal_graph(X, k, t=None):
    """S of He et al., one pair of rows at a time; t as SRCFS has it, where none is given."""
    n = len(X)
    near = []
    for i in range(n):
        others = sorted((float(np.linalg.norm(X[i] - X[j])), j) for j in range(n) if j != i)
        near.append(others[:k])
    if t is None:
        t = 2 * np.mean([distance for row in near for distance, _ in row]) ** 2
    S = np.zeros((n, n))
    for i, row in enumerate(near):
        for distance, j in row:
            S[i, j] = S[j, i] = np.exp(-(distance**2) / t)
    return S


def literal_laplacian_score(f, S):
    """Section 2.2 of He et al."""
    one = np.ones(len(f))
    D = np.diag(S @ one)
    L = D - S
    f = f - (f @ D @ one) / (one @ D @ one) * one
    return (f @ L @ f) / (f @ D @ f)


@pytest.mark.parametrize("bandwidth", [None, 3.0])
@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_laplacian_score_is_that_of_the_paper(table, bandwidth, offset):
    S = literal_graph(table, 4, bandwidth)
    expected = [1 - literal_laplacian_score(f, S) for f in table.T]
    found = LaplacianScore(n_neighbors=4, bandwidth=bandwidth).fit(table + offset)
    assert np.abs(found.scores_ - expected).max() < (1e-12 if offset == 0 else 1e-8)
    assert list(np.argsort(found.ranking_)) == list(np.argsort(-np.array(expected)))


def test_srcfs_is_the_mean_over_partitions_of_laplacian_scores(table):
    X = np.hstack([table, table[::-1] ** 2, np.cos(table)])  # 36 columns: three subspaces
    drawn = list(partitions(36, 4, 3, np.random.RandomState(5)))
    total = np.zeros(36)
    for subspaces in drawn:
        assert sorted(np.concatenate(subspaces)) == list(range(36))
        for columns in subspaces:
            S = literal_graph(X[:, columns], 5)
            total[columns] += [1 - literal_laplacian_score(X[:, c], S) for c in columns]
    found = SRCFS(n_partitions=4, n_subspaces=3, random_state=5).fit(X)
    assert np.abs(found.scores_ - total / 4).max() < 1e-12


def test_subspaces_have_similar_sizes_and_enough_columns(table):
    sizes = [len(part) for part in next(partitions(103, 1, 20, np.random.RandomState(0)))]
    assert set(sizes) == {5, 6}
    few = SRCFS(random_state=0).fit(table)  # 12 columns are one subspace
    assert np.abs(few.scores_ - LaplacianScore().fit(table).scores_).max() < 1e-12


@pytest.mark.parametrize("few", [0, 500])
def test_mcfs_embeds_by_the_generalised_eigenproblem(table, few, monkeypatch):
    S = literal_graph(table, 5)
    D = np.diag(S.sum(axis=1))
    _, vectors = scipy.linalg.eigh(D - S, D)  # L y = λ D y, yᵀ D y = 1
    monkeypatch.setattr(mcfs, "_FEW_ROWS", few)
    found = flat_embedding(neighbour_graph(table, 5), 3, 0)
    for k in range(3):
        expected = vectors[:, k + 1]
        expected = expected * np.sign(expected @ found[:, k])
        assert np.abs(found[:, k] - expected).max() < 1e-8


@pytest.mark.parametrize("few", [0, 500])
def test_mcfs_with_a_row_that_stands_alone(table, few, monkeypatch):
    table[7] = 1e6  # its weights are too small for a number
    monkeypatch.setattr(mcfs, "_FEW_ROWS", few)
    graph = neighbour_graph(table, 5, bandwidth=100.0)
    assert graph.sum(axis=1)[7] == 0
    assert np.isfinite(flat_embedding(graph, 3, 0)).all()
    assert np.isfinite(MCFS(4, bandwidth=100.0, random_state=0).fit(table).scores_).all()


@pytest.mark.parametrize("n", [100, 200])
@pytest.mark.parametrize("times", [50, 100])
def test_a_row_far_from_all_others_does_not_choose_the_columns_of_mcfs(n, times):
    """Its weights are no zeros, but eigenvectors that divide by them had coordinates of 1e49."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(3 * n, 50))
    for cluster in range(3):
        rows[cluster * n : (cluster + 1) * n, cluster * 3 : cluster * 3 + 3] += 4
    rows[17] *= times
    found = MCFS(9, n_clusters=3, random_state=0).fit((rows - rows.mean(axis=0)) / rows.std(axis=0))
    assert found.scores_.max() < 0.1
    assert (found.get_support(indices=True) < 9).sum() >= 6


@pytest.mark.parametrize("wanted", [2, 5, 12])
def test_mcfs_coefficients_solve_the_penalised_regression(table, wanted):
    """Optimal for min ‖y − X a‖² + β |a|₁ with some β, and no more of them than wanted (Eqs. 3 and 5)."""
    found = MCFS(wanted, n_clusters=3, random_state=0).fit(table)
    Y = flat_embedding(neighbour_graph(table, 5), 3, 0)
    X = table - table.mean(axis=0)
    assert found.coefficients_.shape == (3, 12)
    for y, a in zip((Y - Y.mean(axis=0)).T, found.coefficients_, strict=True):
        slopes = X.T @ (y - X @ a)
        there = a != 0
        assert 0 < there.sum() <= wanted
        beta = np.abs(slopes).max()
        assert np.abs(slopes[there] - beta * np.sign(a[there])).max() < 1e-9 * max(1, np.abs(X.T @ y).max())
    assert np.abs(found.scores_ - np.abs(found.coefficients_).max(axis=0)).max() == 0


def test_relevance_scores_are_shares_of_mean_absolute_relevance(table):
    clustering = KMeans(3, n_init=2, random_state=0)
    values = np.abs(wc.explain(clustering.fit(table), table).values).mean(axis=0)
    found = RelevanceSelector(4, estimator=clustering).fit(table)
    assert np.abs(found.scores_ - values / values.sum()).max() < 1e-12
    assert found.estimator_ is not clustering


def test_clusters_are_as_many_as_the_elbow_tells(planted):
    """The three of the table, not the eight of k-means."""
    for X in (planted, sp.csr_array(planted)):
        found = RelevanceSelector(3, n_rounds=2, random_state=0).fit(X)
        assert found.estimator_.n_clusters == 3
        assert found.get_support(indices=True).tolist() == INFORMATIVE
    pair = np.array([[0.0, 1.0], [5.0, 1.0], [5.0, 1.0]])  # too few points for an elbow
    for X in (pair, sp.csr_array(pair)):
        found = RelevanceSelector(1, random_state=0).fit(X)
        assert found.estimator_.n_clusters == 2
        assert found.get_support(indices=True).tolist() == [0]


def test_rounds_leave_out_the_same_share_and_cluster_again(table):
    assert kept_after(1000, 10, 2) == [100, 10]
    clustering = KMeans(3, n_init=2, random_state=0)
    found = RelevanceSelector(3, estimator=clustering, n_rounds=2).fit(table)
    first = np.abs(wc.explain(clustering.fit(table), table).values).mean(axis=0)
    left = np.sort(np.argsort(-first, kind="stable")[:6])
    second = np.abs(wc.explain(clustering.fit(table[:, left]), table[:, left]).values).mean(axis=0)
    assert set(left) == set(np.flatnonzero(found.ranking_ <= 6))
    assert np.array_equal(found.get_support(indices=True), np.sort(left[np.argsort(-second)[:3]]))
    assert found.estimator_.n_features_in_ == 6


def literal_gated_loss(X, gates, mu, sigma, lam, n_neighbors, factor, walk):
    """Eqs. 3 and 4 of Lindenbaum et al., one pair of rows at a time."""
    gated = X * gates
    m, d = X.shape
    squares = np.array([[np.sum((a - b) ** 2) for b in gated] for a in gated])
    bandwidth = factor * np.median(np.sort(squares, axis=1)[:, n_neighbors])
    W = np.exp(-squares / bandwidth)
    P = np.diag(1 / W.sum(axis=1)) @ W
    smooth = np.trace(gated.T @ np.linalg.matrix_power(P, walk) @ gated) / m
    opened = sum(scipy.stats.norm.cdf((0.5 + one) / sigma) for one in mu)
    return -smooth / opened if lam is None else (-smooth + lam * opened) / d


@pytest.mark.parametrize("lam", [None, 0.7])
@pytest.mark.parametrize(("n_neighbors", "factor", "walk"), [(1, 2.0, 2), (3, 0.5, 1)])
def test_dufs_loss_is_that_of_the_paper(lam, n_neighbors, factor, walk):
    import torch

    from whyclust.deep.training.phases import Batch
    from whyclust.select.torch_gated_laplacian import GatedLaplacian

    X = np.random.default_rng(0).normal(size=(25, 6))
    mu = np.random.default_rng(1).normal(scale=0.4, size=6)
    model = GatedLaplacian(
        6,
        lam=lam,
        sigma=0.5,
        n_neighbors=n_neighbors,
        bandwidth_factor=factor,
        walk=walk,
        epochs=1,
        batch_size=25,
        learning_rate=0.1,
    ).double()
    model.means.data = torch.tensor(mu)
    x = torch.tensor(X)
    terms = model.loss(Batch(x, torch.arange(25), x, 0, 0.0, torch.Generator().manual_seed(3)))
    noise = torch.randn(6, generator=torch.Generator().manual_seed(3)).numpy().astype(float)
    gates = np.clip(0.5 + mu + 0.5 * noise, 0, 1)
    expected = literal_gated_loss(X, gates, mu, 0.5, lam, n_neighbors, factor, walk)
    # δ of Eq. 4 is a millionth of a gate.
    assert sum(float(term.detach()) for term in terms.values()) == pytest.approx(
        expected, rel=1e-6 if lam is None else 1e-12
    )


def test_rows_are_at_no_distance_from_themselves_whatever_rounding_says():
    """Pairs of rows far from zero, in single precision; each pair is as far apart as its kernel is wide."""
    import torch

    from whyclust.select.torch_gated_laplacian import random_walk

    rng = np.random.default_rng(0)
    for _ in range(20):
        first = rng.uniform(50, 150, size=40)
        pair = np.stack([first, first + rng.normal(size=40)]).astype(np.float32)
        found = random_walk(torch.from_numpy(pair), 1, 2.0).numpy()
        stays = 1 / (1 + np.exp(-1 / 2.0))
        np.testing.assert_allclose(found, [[stays, 1 - stays], [1 - stays, stays]], rtol=1e-5)


def test_concrete_layer_is_that_of_the_paper():
    import torch

    from whyclust.deep.training.phases import Batch
    from whyclust.select.torch_concrete import ConcreteSelector

    generator = torch.Generator().manual_seed(0)
    model = ConcreteSelector(
        5,
        3,
        [4],
        generator,
        epochs=10,
        batch_size=8,
        learning_rate=0.1,
        first_temperature=10.0,
        last_temperature=0.1,
        decided=1.0,
    ).double()
    assert [model.temperature(done) for done in (0.0, 0.5, 1.0)] == pytest.approx([10.0, 1.0, 0.1], rel=1e-12)
    alpha = np.exp(model.log_alpha.detach().numpy())
    x = torch.randn(8, 5, generator=generator).double()
    terms = model.loss(Batch(x, torch.arange(8), x, 0, 0.5, torch.Generator().manual_seed(3)))
    uniform = torch.rand(3, 5, generator=torch.Generator().manual_seed(3)).numpy().astype(float)
    m = np.zeros((3, 5))
    for i in range(3):
        for j in range(5):
            m[i, j] = np.exp((np.log(alpha[i, j]) - np.log(-np.log(uniform[i, j]))) / 1.0)
        m[i] /= m[i].sum()
    decoded = model.decoder(torch.tensor(x.numpy() @ m.T)).detach().numpy()
    assert float(terms["reconstruction"].detach()) == pytest.approx(
        np.mean((x.numpy() - decoded) ** 2), rel=1e-10
    )


def test_rounds_see_the_columns_in_the_order_of_the_table(planted):
    selector = RelevanceSelector(3, estimator=KMeans(3, n_init=2, random_state=0), n_rounds=2).fit(planted)
    centers = selector.estimator_.cluster_centers_
    left = np.flatnonzero(selector.ranking_ <= centers.shape[1])
    assert len(left) == 9
    labels = selector.estimator_.labels_
    means = [planted[labels == k][:, left].mean(axis=0) for k in range(3)]
    np.testing.assert_allclose(centers, means, atol=1e-10)


# --- behaviour -----------------------------------------------------------------------------------

LEARNED = {
    LaplacianScore: {},
    MCFS: {"n_clusters": 3},
    SRCFS: {},
    RelevanceSelector: {"estimator": KMeans(3, n_init=10, random_state=0)},
}


@pytest.mark.parametrize("kind", LEARNED, ids=lambda kind: kind.__name__)
def test_informative_columns_rank_first(planted, kind):
    settings = dict(LEARNED[kind])
    if "random_state" in kind().get_params():
        settings["random_state"] = 0
    X = StandardScaler().fit_transform(planted)
    found = kind(3, **settings).fit(X)
    assert np.array_equal(found.get_support(indices=True), INFORMATIVE)
    assert sorted(found.ranking_[INFORMATIVE]) == [1, 2, 3]
    assert sorted(found.ranking_) == list(range(1, 31))


def test_gates_of_informative_columns_open_first(planted):
    """Two of the three columns tell all clusters apart, and the ratio is content with these."""
    X = StandardScaler().fit_transform(planted)
    found = DUFS(2, epochs=200, random_state=0).fit(X)
    assert set(found.get_support(indices=True)) < set(INFORMATIVE)
    assert np.sort(found.scores_)[-2:].min() > 1


def test_concrete_autoencoder_takes_columns_that_make_up_the_others():
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(200, 2))
    X = np.hstack([hidden @ rng.normal(size=(2, 8)), 0.05 * rng.normal(size=(200, 8))])
    settings = {"hidden": (16,), "epochs": 60, "learning_rate": 0.03, "decided": 0.9, "random_state": 0}
    found = ConcreteAutoencoder(2, **settings).fit(X)
    assert (found.get_support(indices=True) < 8).all()
    assert found.n_features_ == 2
    assert found.certainty_ >= 0.9
    assert len(found.history_["selection"]["reconstruction"]) <= 60


def test_neurons_that_take_the_same_column_leave_room_for_the_next():
    found = ConcreteAutoencoder(3)
    found.scores_, found.choices_ = np.array([0.2, 0.9, 0.8, 0.95]), np.array([1, 1, 2])
    assert list(found._order()) == [1, 2, 3, 0]


def test_neurons_that_have_not_decided_are_told_of(table):
    with pytest.warns(
        ConvergenceWarning,
        match=r"not decided after 2 epochs: .* is 0\.\d{3} on .*Raise epochs or max_tries\.$",
    ):
        ConcreteAutoencoder(2, epochs=2, random_state=0).fit(table)
    with pytest.warns(ConvergenceWarning, match="not decided after 8 epochs"):
        ConcreteAutoencoder(2, epochs=2, max_tries=3, random_state=0).fit(table)


def test_another_try_begins_elsewhere_and_is_twice_as_long(table, monkeypatch):
    from whyclust.select import torch_training

    seen, plain = [], torch_training.trained

    def trained(make, X, seed, device):
        model, history = plain(make, X, seed, device)
        seen.append((seed, model.epochs))
        return model, history

    monkeypatch.setattr(torch_training, "trained", trained)
    with pytest.warns(ConvergenceWarning, match="not decided after 4 epochs"):
        ConcreteAutoencoder(2, hidden=(4,), epochs=1, max_tries=3, random_state=0).fit(table)
    assert [epochs for _, epochs in seen] == [1, 2, 4]
    assert len({seed for seed, _ in seen}) == 3


def test_gates_tell_how_many_columns_to_keep(planted):
    X = StandardScaler().fit_transform(planted)
    found = DUFS(epochs=150, random_state=0).fit(X)
    assert found.n_features_ == (found.scores_ > 0.5).sum() < 15
    assert np.array_equal(found.gates_, found.scores_.clip(0, 1))
    assert len(found.history_["gates"]["ratio"]) == 150
    shut = DUFS(lam=5.0, epochs=100, random_state=0).fit(X)
    assert shut.n_features_ == 1
    assert set(shut.history_["gates"]) == {"smoothness", "gates"}


def test_gates_that_are_less_than_half_open_keep_no_column(planted):
    """After a few epochs none is shut; some have opened, and some are on their way to be shut."""
    found = DUFS(epochs=5, random_state=0).fit(StandardScaler().fit_transform(planted))
    kept = found.gates_ > 0.5
    assert found.gates_.min() > 0.3
    assert 0 < kept.sum() < 30
    assert found.n_features_ == kept.sum()
    assert np.array_equal(found.get_support(), kept)


# --- scikit-learn's conventions -------------------------------------------------------------------


@parametrize_with_checks([short(kind) for kind in KINDS])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_numbers_shares_names_and_seeds(table, kind):
    names = [f"column {number}" for number in range(12)]
    frame = pd.DataFrame(table, columns=names)
    first, second = (short(kind, n_features_to_select=5).fit(frame) for _ in range(2))
    assert np.array_equal(first.scores_, second.scores_)
    assert first.get_support().sum() == 5
    kept = [names[column] for column in first.get_support(indices=True)]
    assert list(first.get_feature_names_out()) == kept
    assert np.array_equal(first.transform(frame), frame[kept])
    assert list(first.set_output(transform="pandas").transform(frame).columns) == kept
    assert np.array_equal(first.inverse_transform(frame[kept])[:, first.get_support()], frame[kept])
    assert short(kind, n_features_to_select=0.25).fit(table).n_features_ == 3
    assert short(kind, n_features_to_select=1.0).fit(table).get_support().all()
    assert short(kind, n_features_to_select=0.01).fit(table).n_features_ == 1
    if kind is not DUFS:
        assert short(kind).fit(table).n_features_ == 6
    assert clone(first).get_params() == first.get_params()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_two_lines_cluster_what_is_selected_and_explain_follows_back(planted, kind):
    frame = pd.DataFrame(planted, columns=[f"gene {number}" for number in range(30)])
    selector = short(kind, n_features_to_select=4)
    model = make_pipeline(StandardScaler(), selector, KMeans(3, n_init=2, random_state=0)).fit(frame)
    ex = wc.explain(model, frame)
    kept = model[1].get_support()
    assert np.abs(ex.values.sum(axis=1) + ex.base_values - ex.explained).max() < 1e-10
    assert np.abs(ex.explained - ex.evidence).max() < 1e-10
    assert (ex.values[:, ~kept] == 0).all()
    assert np.array_equal(ex.assigned, model.predict(frame))
    assert list(ex.feature_names) == list(frame.columns)
    alone = wc.explain(model[-1], model[:-1].transform(frame))
    assert np.abs(ex.values[:, kept] - alone.values).max() < 1e-10


@pytest.mark.parametrize("kind", SPARSE, ids=lambda kind: kind.__name__)
def test_sparse_tables_give_what_dense_ones_give(kind):
    X = sp.random_array((60, 40), density=0.2, format="csr", random_state=np.random.RandomState(0))
    dense, sparse = (short(kind, n_features_to_select=7).fit(one) for one in (X.toarray(), X))
    assert np.abs(dense.scores_ - sparse.scores_).max() < 1e-10
    assert sp.issparse(sparse.transform(X))
    for kept in (X.tocsc(), X.astype(np.float32)):
        assert np.abs(short(kind).fit(kept).scores_ - dense.scores_).max() < 1e-5


@pytest.mark.parametrize(
    "kind", [kind for kind in KINDS if kind not in SPARSE], ids=lambda kind: kind.__name__
)
def test_sparse_tables_are_refused_by_the_others(kind):
    with pytest.raises(TypeError, match="dense data is required"):
        short(kind).fit(sp.eye_array(20, format="csr"))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("suffix", ["npz", "json"])
def test_saved_and_loaded(table, kind, suffix, tmp_path):
    selector = short(kind, n_features_to_select=5).fit(table)
    again = wc.load(wc.save(selector, tmp_path / f"selector.{suffix}"))
    assert np.array_equal(again.scores_, selector.scores_)
    assert np.array_equal(again.transform(table), selector.transform(table))
    if kind is RelevanceSelector:
        assert np.array_equal(again.estimator_.predict(table), selector.estimator_.predict(table))


def test_a_selector_with_a_clustering_of_ours_is_saved(table, tmp_path):
    selector = RelevanceSelector(5, estimator=SubKMeans(2, n_init=1, random_state=0)).fit(table)
    again = wc.load(wc.save(selector, tmp_path / "selector.npz"))
    assert again.estimator.n_clusters == 2
    assert np.array_equal(again.transform(table), selector.transform(table))


def test_a_selector_of_k_means_is_loaded_where_nothing_was_imported(table, tmp_path):
    path = wc.save(RelevanceSelector(5, random_state=0).fit(table), tmp_path / "selector.npz")
    code = f"import whyclust; print(type(whyclust.load({str(path)!r}).estimator_).__name__)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "KMeans"


@pytest.mark.parametrize(("share", "expected"), [(0.29, 29), (0.57, 57), (0.295, 29), (0.001, 1), (1.0, 100)])
def test_shares_are_not_lost_to_rounding(share, expected):
    X = np.random.default_rng(0).normal(size=(12, 100))
    assert LaplacianScore(share).fit(X).n_features_ == expected


# --- odd tables and bad input ----------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_constant_and_repeated_columns_and_rows(table, kind):
    X = np.hstack([table, table[:, :2], np.full((40, 2), 1e6)])
    found = short(kind, n_features_to_select=6).fit(np.vstack([X, X[:5]]))
    assert np.isfinite(found.scores_).all()
    if kind in LEARNED:
        assert not found.get_support()[-2:].any()
    assert short(kind).fit(table[:2]).get_support().any()  # fewer rows than neighbours


def test_constant_columns_have_the_least_score(table):
    X = np.hstack([table, np.full((40, 1), 0.1), np.full((40, 1), 1e9)])
    for one in (X, sp.csr_array(X)):
        assert (LaplacianScore().fit(one).scores_[-2:] == -1).all()
    with pytest.warns((ConvergenceWarning, UserWarning), match="distinct clusters|not positive"):
        assert (RelevanceSelector(random_state=0).fit(np.ones((9, 3))).scores_ == 0).all()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_bad_input_gets_one_sentence(table, kind):
    with pytest.raises(ValueError, match=r"^n_features_to_select=13, but X has 12 columns: choose at most"):
        short(kind, n_features_to_select=13).fit(table)
    for wrong in (0, -1, 0.0, 1.5, "all"):
        with pytest.raises(ValueError, match="n_features_to_select"):
            short(kind, n_features_to_select=wrong).fit(table)
    with pytest.raises(ValueError, match="holds NaN"):
        short(kind).fit(np.full((5, 3), np.nan))
    with pytest.raises(ValueError, match="minimum of 2"):
        short(kind).fit(table[:1])
    with pytest.raises(NotFittedError):
        short(kind).transform(table)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_numbers_too_large_to_be_squared_get_one_sentence(table, kind):
    # Networks compute in single precision.
    factor = 1e13 if kind in SHORT else 1e160
    for X in (table, sp.csr_array(table)) if kind in SPARSE else (table,):
        with pytest.raises(ValueError, match=r"^X holds values as large as \S+, .*: rescale the columns"):
            short(kind).fit(X * factor)


@pytest.mark.parametrize("kind", [LaplacianScore, MCFS, SRCFS])
def test_a_bandwidth_that_leaves_no_neighbours_gets_one_sentence(table, kind):
    with pytest.raises(ValueError, match=r"^bandwidth=1e-300 is so small that no row has a neighbour"):
        kind(bandwidth=1e-300).fit(table)


def test_mcfs_with_more_clusters_than_rows(monkeypatch):
    X = np.random.default_rng(0).normal(size=(12, 3))
    few = MCFS(2, n_clusters=40).fit(X)
    monkeypatch.setattr(mcfs, "_FEW_ROWS", 0)
    many = MCFS(2, n_clusters=40, random_state=0).fit(X)
    assert few.coefficients_.shape == many.coefficients_.shape == (11, 3)


@pytest.mark.parametrize("hidden", [(0,), (-2,), (2.5,), ("a",), (8, None)])
def test_layers_that_make_no_sense(table, hidden):
    with pytest.raises(ValueError, match=r"^hidden=\(.*\), expected the sizes of the hidden layers"):
        ConcreteAutoencoder(hidden=hidden, epochs=1).fit(table)


def test_parameters_are_checked(table):
    for wrong in (
        LaplacianScore(n_neighbors=0),
        LaplacianScore(bandwidth=0.0),
        MCFS(n_clusters=0),
        SRCFS(n_partitions=0),
        SRCFS(n_subspaces=0),
        RelevanceSelector(estimator="k-means"),
        RelevanceSelector(n_rounds=0),
        DUFS(lam=-1.0),
        DUFS(sigma=0.0),
        DUFS(walk=0),
        ConcreteAutoencoder(max_tries=0),
        ConcreteAutoencoder(decided=1.5),
    ):
        with pytest.raises(ValueError, match=f"The '\\w+' parameter of {type(wrong).__name__}"):
            wrong.fit(table)
    with pytest.raises(ValueError, match="device='toaster' is unknown"):
        DUFS(device="toaster").fit(table)


def test_labels_of_any_clustering_can_rank_columns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 6)) * 0.1
    X[:40, 2] += 3.0
    found = RelevanceSelector(1, estimator=DBSCAN(eps=1.0)).fit(X)
    assert np.array_equal(found.get_support(indices=True), [2])


def test_the_room_needs_no_torch():
    code = (
        "import sys, numpy as np, whyclust.select as s; X = np.random.default_rng(0).normal(size=(30, 6)); "
        "[kind().fit(X) for kind in (s.LaplacianScore, s.MCFS, s.SRCFS, s.RelevanceSelector)]; "
        "s.DUFS(), s.ConcreteAutoencoder(); print('torch' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"


def test_without_torch_the_extra_is_named(table, monkeypatch):
    for name in ("torch_gated_laplacian", "torch_concrete", "torch_training"):
        monkeypatch.setitem(sys.modules, f"whyclust.select.{name}", None)
    for selector in (DUFS(), ConcreteAutoencoder()):
        with pytest.raises(ImportError, match=r"needs PyTorch, .*pip install '\.\[torch\]', in the folder"):
            selector.fit(table)


def test_gaps_are_told_with_their_place(table):
    rows = np.array(table, dtype=float)
    rows[4, 2] = np.nan
    with pytest.raises(ValueError, match=r"X holds NaN \(a missing value\) in row 4, column 'x2'"):
        wc.select.LaplacianScore().fit(rows)
