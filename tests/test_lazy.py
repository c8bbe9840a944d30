"""Arrays and frames of dask are explained block by block, as the whole table is."""

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import DBSCAN, KMeans
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import whyclust as wc
from block_tables import COLUMNS, clusters, largest
from whyclust.blocks import LazyExplanation

da = pytest.importorskip("dask.array", reason="dask is not installed")
dd = pytest.importorskip("dask.dataframe", reason="dask has no frames here")

BOUND = 1e-12
PER_ROW = ("values", "base_values", "explained", "evidence", "clusters", "competitors")


@pytest.fixture(autouse=True)
def in_this_thread():
    import dask

    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture
def table():
    frame = clusters(n_rows=400)[COLUMNS]
    return frame, make_pipeline(StandardScaler(), KMeans(3, n_init=1, random_state=0)).fit(frame)


def of_dask(frame, kind):
    if kind == "frame":
        return dd.from_pandas(frame, npartitions=7, sort=False)
    # Columns are cut, too.
    return da.from_array(frame.to_numpy(), chunks=(90, 4))


@pytest.mark.parametrize("kind", ["frame", "array"])
@pytest.mark.parametrize("asked", [{}, {"cluster": 1}, {"cluster": 0, "against": 2}, {"beta": 0.5}])
def test_blocks_give_what_the_whole_table_gives(table, kind, asked):
    frame, model = table
    X = frame if kind == "frame" else frame.to_numpy()
    model = model if kind == "frame" else KMeans(3, n_init=1, random_state=0).fit(X)
    whole = wc.explain(model, X, **asked)
    found = wc.explain(model, of_dask(frame, kind), **asked)
    assert isinstance(found, LazyExplanation)
    assert abs(found.network.beta - whole.beta) < BOUND
    for name in PER_ROW:
        lazy = getattr(found, name)
        assert isinstance(lazy, da.Array)
        assert largest(lazy.compute(), getattr(whole, name)) < BOUND
    joined = found.compute()
    assert largest(joined.values, whole.values) < BOUND
    assert joined.feature_names == whole.feature_names == found.feature_names


@pytest.mark.parametrize("kind", ["frame", "array"])
def test_summaries_are_those_of_the_whole_table(table, kind):
    frame, model = table
    network = wc.neuralize(model, frame)
    if kind == "array":
        model = KMeans(3, n_init=1, random_state=0).fit(frame.to_numpy())
        network = wc.neuralize(model, frame.to_numpy())
    X = frame if kind == "frame" else frame.to_numpy()
    mine = wc.explain(network, of_dask(frame, kind), names={1: "middle"}).summary()
    theirs = wc.explain(network, X, names={1: "middle"}).summary()
    for one, other in zip(mine, theirs, strict=True):
        assert (one.cluster, one.name, one.size) == (other.cluster, other.name, other.size)
        assert (one.typical, one.borderline) == (other.typical, other.borderline)
        assert one.features["feature"].tolist() == other.features["feature"].tolist()
        assert largest(one.features["relevance"], other.features["relevance"]) < BOUND


def test_slices_and_masks(table):
    frame, model = table
    network = wc.neuralize(model, frame)
    whole = wc.explain(network, frame)
    rows = of_dask(frame, "frame")
    some = wc.explain(network, rows)[rows["a"] > 0].compute()
    assert largest(some.values, whole[(frame["a"] > 0).to_numpy()].values) < BOUND
    model = KMeans(3, n_init=1, random_state=0).fit(frame.to_numpy())
    network = wc.neuralize(model, frame.to_numpy())
    cut = wc.explain(network, of_dask(frame, "array"))[100:250]
    assert cut.values.shape == (150, 6)
    assert largest(cut.values.compute(), wc.explain(network, frame.to_numpy())[100:250].values) < BOUND


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", ["frame", "array"])
def test_masks_of_the_explanation_itself(table, kind):
    frame, model = table
    # Labels that repeat do not match rows with their masks.
    frame = frame.set_axis(np.arange(400) % 50)
    X = frame if kind == "frame" else frame.to_numpy()
    model = model if kind == "frame" else KMeans(3, n_init=1, random_state=0).fit(X)
    whole, found = wc.explain(model, X), wc.explain(model, of_dask(frame, kind))
    own = found[found.clusters == 1]
    assert largest(own.compute().values, whole[whole.clusters == 1].values) < BOUND
    most = np.median(whole.evidence[whole.clusters == 1])
    inside = own[own.evidence > most]
    assert (
        largest(inside.values.compute(), whole[(whole.clusters == 1) & (whole.evidence > most)].values)
        < BOUND
    )


@pytest.mark.parametrize("kind", ["frame", "array"])
def test_a_mask_that_fits_no_row_is_told(table, kind, tmp_path):
    frame, model = table
    X = frame if kind == "frame" else frame.to_numpy()
    model = model if kind == "frame" else KMeans(3, n_init=1, random_state=0).fit(X)
    found = wc.explain(model, of_dask(frame, kind))
    none = found[found.evidence > 1e9]
    for ask in (none.compute, none.summary, lambda: none.save(tmp_path / "parts")):
        with pytest.raises(ValueError, match="no row fits the mask"):
            ask()
    assert none.evidence.compute().shape == (0,)


def test_masks_of_other_rows_are_refused(table):
    frame, model = table
    found = wc.explain(model, of_dask(frame, "frame"), background=frame)
    for mask in (np.ones(400, dtype=bool), np.arange(400)):
        with pytest.raises(ValueError, match="expected a mask in 7 blocks, as the rows are"):
            found[da.from_array(mask, chunks=100)]
    other = found[da.from_array(np.ones(399, dtype=bool), chunks=57)]
    with pytest.raises(ValueError, match=r"the mask has 57 entries and 58 rows"):
        other.compute()


def test_parts_are_saved(table, tmp_path):
    frame, model = table
    found = wc.explain(model, of_dask(frame, "frame"), background=frame)
    folder = found.save(tmp_path / "parts")
    parts = [wc.load(path) for path in sorted(folder.iterdir())]
    assert len(parts) == found.n_blocks == 7
    assert all(part.data.left_out for part in parts)
    joined = wc.Explanation.concat(parts)
    assert joined.values.dtype == np.float32
    assert largest(joined.values, wc.explain(model, frame).values) < 1e-4
    assert joined.index.tolist() == list(range(400))


def test_a_background_gives_beta(table):
    frame, model = table
    whole = wc.explain(model, frame, background=frame[:50])
    found = wc.explain(model, of_dask(frame, "frame"), background=frame[:50])
    assert abs(found.network.beta - whole.beta) < BOUND
    assert abs(found.network.beta - wc.explain(model, frame).beta) > 1e-3


def test_a_folder_of_parts_is_told(table, tmp_path):
    frame, model = table
    folder = wc.explain(model, of_dask(frame, "frame"), background=frame).save(tmp_path / "parts")
    with pytest.raises(ValueError, match=r"is a folder of parts: load one of them.*part-000000\.parquet'"):
        wc.load(folder)


def test_partitions_without_rows(table, tmp_path):
    frame, model = table
    rows = of_dask(frame, "frame")
    kept = frame["a"] > frame["a"].iloc[:100].max()
    whole = wc.explain(model, frame[kept])
    found = wc.explain(model, rows[rows["a"] > frame["a"].iloc[:100].max()])
    sizes = [len(part) for part in found]
    assert len(sizes) < found.n_blocks
    assert abs(found.network.beta - whole.beta) < BOUND
    for name in PER_ROW:
        assert largest(getattr(found, name).compute(), getattr(whole, name)) < BOUND
        assert getattr(found, name).dtype == getattr(whole, name).dtype
    assert [one.size for one in found.summary()] == [one.size for one in whole.summary()]
    parts = [wc.load(path) for path in sorted(found.save(tmp_path / "parts").iterdir())]
    assert [len(part) for part in parts] == sizes
    with pytest.raises(ValueError, match="X has no rows"):
        wc.explain(model, rows[rows["a"] > 1e9])


def test_categories_that_the_model_knows_are_enough():
    """Rows that dask makes up have a category that the encoder refuses."""
    table = clusters(n_rows=200)[["a", "b", "colour"]]
    prepare = make_column_transformer((OneHotEncoder(), ["colour"]), remainder="passthrough")
    model = make_pipeline(prepare, KMeans(3, n_init=1, random_state=0)).fit(table)
    whole = wc.explain(model, table)
    found = wc.explain(model, dd.from_pandas(table, npartitions=3, sort=False))
    assert repr(found) == "<LazyExplanation of 3 blocks, 3 columns, not computed>"
    assert found.feature_names == whole.feature_names
    assert largest(found.values.compute(), whole.values) < BOUND
    assert [one.name for one in found.summary()] == [one.name for one in whole.summary()]


def test_what_is_not_computed_names_compute(table):
    frame, model = table
    found = wc.explain(model, dd.from_pandas(frame, npartitions=1), beta=1.0)
    assert "of 1 block, 6 columns" in repr(found)
    for rows in (3, slice(5), [1, 2]):
        with pytest.raises(TypeError, match=r"use compute\(\) first"):
            found[rows]
    for name in ("to_html", "to_pandas", "describe"):
        with pytest.raises(AttributeError, match=rf"use compute\(\)\.{name}"):
            getattr(found, name)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = found.nothing


def test_errors_name_the_block(table):
    frame, model = table
    frame = frame.copy()
    frame.iloc[399, 0] = np.nan
    found = wc.explain(model, of_dask(frame, "frame"), beta=1.0)
    with pytest.raises(ValueError, match="In block 7 of 7, whose rows are numbered by themselves: "):
        found.compute()
    with pytest.raises(ValueError, match=r"In block 7 of 7, whose rows .*: X holds NaN .* in row 56,"):
        wc.explain(KMeans(3, n_init=1, random_state=0).fit(frame[:99]), of_dask(frame, "frame"))


def test_nothing_is_computed_before_it_is_asked_for(table):
    frame, model = table
    network = wc.neuralize(model, frame)
    seen = []

    def noticed(part):
        seen.append(len(part))
        return part

    rows = of_dask(frame, "frame").map_partitions(noticed, meta=frame[:0])
    found = wc.explain(network, rows)
    assert "7 blocks" in repr(found) and found.values.shape[1] == 6
    assert seen == []
    next(iter(found))
    assert len(seen) == 1


def test_columns_that_the_model_does_not_know_are_left_out(table):
    frame, model = table
    wide = frame.assign(more=1.0)
    found = wc.explain(model, of_dask(wide, "frame"), beta=1.0)
    assert found.feature_names == COLUMNS
    assert len(found.compute()) == 400


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"method": "ig"}, "method= was given, but X is of dask"),
        ({"cluster": [0] * 400}, "cluster= has an entry for each row"),
    ],
)
def test_what_needs_all_rows_is_refused(table, options, told):
    frame, model = table
    with pytest.raises(ValueError, match=told):
        wc.explain(model, of_dask(frame, "frame"), **options)


def test_labels_are_refused(table):
    frame, _ = table
    labels = DBSCAN(eps=3.0).fit(frame)
    with pytest.raises(TypeError, match="known by its labels only"):
        wc.explain(labels, of_dask(frame, "frame"))


def test_dask_dataframes_map_the_pure_function(table):
    from whyclust.blocks import explain_frame

    frame, model = table
    network = wc.neuralize(model, frame)
    meta = explain_frame(frame[:1], network)[:0]
    found = of_dask(frame, "frame").map_partitions(explain_frame, network, meta=meta).compute()
    pd.testing.assert_frame_equal(found, explain_frame(frame, network), rtol=0, atol=BOUND)


def files_in(folder):
    return sorted(path.name for path in folder.iterdir())


def test_parts_that_were_saved_before_are_replaced_wholly(table, tmp_path):
    frame, model = table
    found = wc.explain(model, of_dask(frame, "frame"), background=frame)
    folder = found.save(tmp_path / "parts")
    assert len(files_in(folder)) == 7
    few = wc.explain(model, dd.from_pandas(frame[:90], npartitions=2), background=frame)
    few.save(folder)
    assert files_in(folder) == ["part-000000.parquet", "part-000001.parquet"]
    joined = wc.Explanation.concat([wc.load(path) for path in sorted(folder.iterdir())])
    assert joined.index.tolist() == list(range(90))


def test_parts_that_cannot_be_computed_leave_the_earlier_ones(table, tmp_path):
    frame, model = table
    folder = wc.explain(model, of_dask(frame, "frame"), beta=1.0).save(tmp_path / "parts")
    before = {path: path.read_bytes() for path in folder.iterdir()}
    damaged = frame.copy()
    damaged.iloc[399, 0] = np.nan
    with pytest.raises(ValueError, match="In block 7 of 7"):
        wc.explain(model, of_dask(damaged, "frame"), beta=1.0).save(folder)
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize("other", ["part-000000.parquet", "rows.parquet", "notes.txt", ".hidden"])
def test_parts_are_not_saved_among_other_files(table, tmp_path, other):
    frame, model = table
    folder = tmp_path / "big"
    folder.mkdir()
    if other.endswith(".parquet"):
        frame.to_parquet(folder / other)
    else:
        (folder / other).write_text("mine")
    with pytest.raises(ValueError, match=f"holds '{other}', which is no part of an explanation"):
        wc.explain(model, of_dask(frame, "frame"), beta=1.0).save(folder)
    assert files_in(folder) == [other]


def test_parts_are_saved_to_folders_only(table, tmp_path):
    frame, model = table
    found = wc.explain(model, of_dask(frame, "frame"), beta=1.0)
    (tmp_path / "file").write_text("mine")
    for name, better in (("dx.npz", "dx"), ("dx.parquet", "dx"), ("file", "file.parts")):
        told = rf"{name}' is the name of a file, expected that of a folder .*such as '.*{better}'"
        with pytest.raises(ValueError, match=told):
            found.save(tmp_path / name)
    assert files_in(tmp_path) == ["file"]


@pytest.mark.parametrize("kind", ["frame", "array"])
@pytest.mark.parametrize("given", ["float32", "float64", "int64"])
def test_types_are_announced_as_they_are_computed(table, kind, given):
    from whyclust.blocks import explain_frame

    frame, _ = table
    frame = frame.round().astype(given)
    model = KMeans(3, n_init=1, random_state=0).fit(frame if kind == "frame" else frame.to_numpy())
    found = wc.explain(model, of_dask(frame, kind))
    for name in PER_ROW:
        lazy = getattr(found, name)
        assert lazy.dtype == lazy.compute().dtype
    if kind == "frame":
        some, none = (explain_frame(rows, found.network) for rows in (frame, frame[:0]))
        assert none.dtypes.to_dict() == some.dtypes.to_dict()


def test_types_of_what_is_encoded():
    table = clusters(n_rows=200)[["a", "b", "colour"]].astype({"a": "float32", "b": "float32"})
    prepare = make_column_transformer((OneHotEncoder(), ["colour"]), remainder="passthrough")
    model = make_pipeline(prepare, KMeans(3, n_init=1, random_state=0)).fit(table)
    found = wc.explain(model, dd.from_pandas(table, npartitions=3, sort=False))
    assert found.values.dtype == found.values.compute().dtype == np.float64


def test_what_chooses_no_rows_is_refused(table):
    frame, _ = table
    X = of_dask(frame, "array")
    found = wc.explain(KMeans(3, n_init=1, random_state=0).fit(frame.to_numpy()), X, beta=1.0)
    for rows in (None, (slice(2, 5), 0), X > 0, 3):
        with pytest.raises(TypeError, match=r"with an entry for each row.*use compute\(\) first"):
            found[rows]
    assert found[2:5].values.shape == (3, 6)


@pytest.mark.parametrize("kind", ["array", "frame"])
def test_one_column_is_no_table(table, kind):
    frame, model = table
    X = of_dask(frame, kind)
    with pytest.raises(ValueError, match=r"X has 1 dimension\(s\), expected a table .*use X.reshape"):
        wc.explain(model, X["a"] if kind == "frame" else X[:, 0])


def test_lines_are_of_frames_whose_columns_are_told_apart(table):
    from whyclust.blocks import explain_frame

    frame, model = table
    network = wc.neuralize(model, frame)
    with pytest.raises(TypeError, match="frame is a ndarray, expected a frame of pandas"):
        explain_frame(frame.to_numpy(), network)
    twice = pd.concat([frame.assign(id=1), frame.assign(id=2)[["id"]]], axis=1)
    with pytest.raises(ValueError, match="the frame has more than one column called 'id'"):
        explain_frame(twice, network, id_column="id")
