"""AnnData: genes are columns, cells are rows, and clusters are in obs."""

import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.cluster import KMeans

import whyclust as wc
from whyclust.inputs.annotated import is_annotated

anndata = pytest.importorskip("anndata")
# Of anndata's own, with a pandas that is newer than it.
pytestmark = pytest.mark.filterwarnings("ignore:The 'mode.chained_assignment' option is deprecated")

GENES = ["CD3", "CD19", "NKG7", "LYZ"]
GENERATOR = np.random.default_rng(0)
CODES = np.repeat([0, 1, 2], 20)
COUNTS = GENERATOR.poisson(
    np.array([[9.0, 0.2, 0.2, 2.0], [0.2, 9.0, 0.2, 2.0], [0.2, 0.2, 9.0, 2.0]])[CODES]
)


def make_cells(form=sp.csr_matrix):
    obs = pd.DataFrame(
        {"leiden": pd.Categorical(CODES.astype(str)), "batch": ["a", "b"] * 30},
        index=[f"cell{place}" for place in range(60)],
    )
    values = COUNTS.astype(np.float32)
    cells = anndata.AnnData(form(values), obs=obs, var=pd.DataFrame(index=GENES))
    cells.layers["scaled"] = (values - values.mean(axis=0)) / values.std(axis=0)
    cells.obsm["X_pca"] = values[:, :3] - values[:, 1:]
    cells.obsm["named"] = pd.DataFrame(values[:, :3], index=obs.index, columns=["one", "two", "three"])
    return cells


@pytest.fixture(scope="module")
def cells():
    return make_cells()


def test_labels_in_obs_are_explained_by_genes(cells):
    ex = wc.explain("leiden", cells)
    assert ex.feature_names == GENES
    assert ex.index.tolist() == cells.obs_names.tolist()
    assert [one.features["feature"][0] for one in ex.summary()] == ["CD3", "CD19", "NKG7"]
    assert ex.provenance.labels == "given labels"
    frame = ex.to_pandas()
    assert frame.columns.tolist() == GENES
    assert frame.index.tolist() == cells.obs_names.tolist()
    assert "cell5" in ex["cell5"].describe()
    dense = wc.explain(CODES.astype(str), COUNTS.astype(np.float32))
    np.testing.assert_array_equal(ex.values, dense.values)
    # A Series of obs is matched by the names of the cells.
    shuffled = cells.obs["leiden"].sample(frac=1.0, random_state=0)
    np.testing.assert_array_equal(wc.explain(shuffled, cells).values, ex.values)


@pytest.mark.parametrize("form", [sp.csr_matrix, sp.csc_matrix, np.asarray])
def test_models_read_cells(form):
    cells = make_cells(form)
    model = KMeans(3, n_init=1, random_state=0).fit(COUNTS.astype(np.float32))
    ex = wc.explain(model, cells)
    assert ex.is_factored == (form is not np.asarray)
    assert ex.feature_names == GENES
    wanted = wc.explain(model, cells.to_df())
    assert np.abs(np.asarray(ex.values) - wanted.values).max() < 1e-4 * np.abs(wanted.values).max()
    np.testing.assert_array_equal(ex.assigned, model.predict(COUNTS.astype(np.float32)))
    # A view, with genes in another order, for a model that knows their names.
    named = KMeans(3, n_init=1, random_state=0).fit(cells.to_df())
    some = wc.explain(named, cells[10:30, ["LYZ", "CD3", "NKG7", "CD19"]])
    assert some.feature_names == GENES
    assert some.index[0] == "cell10"
    assert type(some.data) in (np.ndarray, sp.csr_matrix)
    np.testing.assert_array_equal(some.assigned, ex.assigned[10:30])
    np.testing.assert_array_equal(wc.neuralize(named, cells).predict(cells), ex.assigned)


def test_layers_and_embeddings(cells):
    scaled = cells.to_df("scaled")
    model = KMeans(3, n_init=1, random_state=0).fit(scaled)
    ex = wc.explain(model, cells, layer="scaled", background=cells)
    np.testing.assert_array_equal(ex.values, wc.explain(model, scaled, background=scaled).values)
    by_pca = KMeans(3, n_init=1, random_state=0).fit(cells.obsm["X_pca"])
    ex = wc.explain(by_pca, cells, obsm="X_pca")
    assert ex.feature_names == ["X_pca 1", "X_pca 2", "X_pca 3"]
    assert ex.index[3] == "cell3"
    assert wc.explain("leiden", cells, obsm="named").feature_names == ["one", "two", "three"]


def test_audits_take_cells(cells):
    quick = {"n_refits": 0, "n_repeats": 1, "max_rows": 20}
    found, wanted = wc.audit("leiden", cells, **quick), wc.audit(CODES.astype(str), cells.to_df(), **quick)
    assert found.trusted == wanted.trusted
    assert found.verdict == wanted.verdict
    model = KMeans(3, n_init=1, random_state=0).fit(cells.layers["scaled"])
    assert wc.audit(model, cells, layer="scaled", **quick).settings["n_columns"] == 4


def test_explanations_of_cells_are_saved(cells, tmp_path):
    ex = wc.explain("leiden", cells)
    for suffix in (".npz", ".parquet"):
        again = wc.load(ex.save(tmp_path / f"cells{suffix}"))
        assert again.feature_names == GENES
        assert again.index.tolist() == cells.obs_names.tolist()
    model = KMeans(3, n_init=1, random_state=0).fit(cells.X)
    assert wc.load(wc.explain(model, cells).save(tmp_path / "sparse.npz")).index[2] == "cell2"
    assert "CD19" in ex.to_html(tmp_path / "cells.html").read_text()


def test_gaps_in_cells_are_filled_in(cells):
    holes = make_cells(np.asarray)
    holes.X[3, 1] = np.nan
    with pytest.warns(UserWarning, match=r"replaced by the mean of their column: 'CD19' \(1\)"):
        ex = wc.explain("leiden", holes)
    assert ex.feature_names == GENES
    assert ex.index[3] == "cell3"


def test_what_is_not_there_is_told_with_what_is(cells):
    model = KMeans(3, n_init=1, random_state=0).fit(COUNTS.astype(np.float32))
    with pytest.raises(
        KeyError, match=r"X.obs has no 'leidn'; it has 'leiden', 'batch': did you mean 'leiden'\?"
    ):
        wc.explain("leidn", cells)
    with pytest.raises(
        KeyError, match=r"X.layers has no 'scaledd'; it has 'scaled': did you mean 'scaled'\?"
    ):
        wc.explain(model, cells, layer="scaledd")
    with pytest.raises(KeyError, match=r"X.obsm has no 'umap'; it has 'X_pca', 'named'"):
        wc.explain(model, cells, obsm="umap")
    with pytest.raises(ValueError, match=r"layer='scaled' and obsm='X_pca' were both given"):
        wc.explain(model, cells, layer="scaled", obsm="X_pca")
    with pytest.raises(TypeError, match=r"layer='scaled' chooses from an AnnData, but X is a ndarray"):
        wc.explain(model, COUNTS, layer="scaled")
    with pytest.raises(TypeError, match=r"obsm='X_pca' chooses from an AnnData, but X is a DataFrame"):
        wc.audit(model, cells.to_df(), obsm="X_pca")
    with pytest.raises(TypeError, match=r"The first argument is an AnnData.*wc.explain\('leiden', adata\)"):
        wc.explain(cells, "leiden")
    twice = make_cells()
    twice.var_names = ["CD3", "CD19", "CD3", "LYZ"]
    with pytest.raises(
        ValueError, match=r"more than one gene called 'CD3': call adata.var_names_make_unique"
    ):
        wc.explain("leiden", twice)
    empty = make_cells()
    empty.X = None
    with pytest.raises(
        ValueError, match=r"without X: choose layer= \('scaled'\) or obsm= \('X_pca', 'named'\)"
    ):
        wc.explain("leiden", empty)
    assert wc.explain("leiden", empty, layer="scaled").feature_names == GENES


class InFile(anndata.AnnData):
    """What read_h5ad(backed="r") returns, in a nutshell."""

    @property
    def isbacked(self):
        return True


def test_values_in_a_file_must_be_read_first(cells):
    backed = InFile(cells)
    assert is_annotated(backed)
    with pytest.raises(ValueError, match=r"AnnData whose values are in a file: pass X.to_memory\(\)"):
        wc.explain("leiden", backed)
    assert wc.explain("leiden", backed, obsm="X_pca").shape == (60, 3)  # which are in memory


def test_nothing_imports_anndata(monkeypatch):
    class AnnData:
        """Of another library."""

    assert not is_annotated(AnnData())
    assert not is_annotated(COUNTS)
    monkeypatch.delitem(sys.modules, "anndata")
    wc.explain(KMeans(3, n_init=1, random_state=0).fit(COUNTS), COUNTS)
    assert "anndata" not in sys.modules


def test_cells_without_a_label_are_left_out_with_a_note(cells):
    some = cells.copy()
    labels = some.obs["leiden"].astype(object)
    labels.iloc[[0, 7]] = None
    some.obs["known"] = pd.Categorical(labels)
    with pytest.warns(UserWarning, match="2 of .* cells have no label in obs.'known'. and were left out"):
        found = wc.explain("known", some)
    kept = np.delete(np.arange(some.n_obs), [0, 7])
    assert found.index.tolist() == some.obs_names[kept].tolist()
    assert any("have no label" in note for note in found.notes)
    expected = wc.explain("leiden", some[kept])
    assert np.abs(found.values - expected.values).max() <= 1e-6 * np.abs(expected.values).max()


def test_models_and_selectors_say_how_to_pass_cells(cells):
    pytest.importorskip("torch")
    from whyclust.deep import IDC
    from whyclust.select import LaplacianScore

    for estimator in (IDC(2), LaplacianScore(1)):
        with pytest.raises(TypeError, match=r"X is an AnnData, expected a table: pass X\.to_df\(\)"):
            estimator.fit(cells)
