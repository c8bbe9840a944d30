"""Blocks, what is kept of them, and k-means by sums over them."""

import dataclasses
import json
import os
import shutil
import subprocess
import sys
import time
from functools import reduce
from operator import add

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from sklearn.cluster import KMeans

import whyclust as wc
from block_tables import COLUMNS, clusters, largest, parquet, small_blocks
from whyclust.blocks import explain_frame, find_source
from whyclust.blocks.engines import MOST_ATTEMPTS, Processes, ThisProcess, engine_of
from whyclust.blocks.facts import BlockFacts, FactsState, block_facts, drawn, total, uniform
from whyclust.blocks.job import Job, read_manifest
from whyclust.blocks.k_means import Centers, block_sums, lloyd, mini_batches
from whyclust.blocks.lock import locked
from whyclust.blocks.prepared import Prepared
from whyclust.blocks.starting import block_far_rows, find_start
from whyclust.columns import column_facts, plan_columns, preparation
from whyclust.saving.packing import pack, unpack

BOUND = 1e-12


@pytest.fixture
def table(tmp_path, monkeypatch):
    small_blocks(monkeypatch)
    frame = clusters(gaps=True)
    return frame, find_source([parquet(frame, tmp_path / "in")])


def numbers_plan(frame, scale="standard"):
    return plan_columns(column_facts(frame, COLUMNS), scale=scale)


# ---- source ----


def test_blocks_hold_all_rows_once_and_in_order(table):
    frame, source = table
    assert len(source.blocks) > 5
    assert source.n_rows == len(frame)
    firsts = [first for block in source.blocks for first, _ in block.frames()]
    assert len(firsts) > len(source.blocks)
    whole = pd.concat([part for block in source.blocks for _, part in block.frames()])
    pd.testing.assert_frame_equal(whole, frame, check_index_type=False)


def test_a_row_group_is_not_read_at_once(tmp_path):
    """Its memory is that of a batch and of the columns' buffers, not that of the row group."""
    columns = {f"x{number}": np.random.default_rng(number).normal(size=400_000) for number in range(20)}
    path = tmp_path / "one.parquet"
    pa.parquet.write_table(pa.table(columns), path, row_group_size=400_000, use_dictionary=False)
    del columns
    source = find_source([path])
    (block,) = source.blocks
    pool = pa.default_memory_pool()
    before, most = pool.bytes_allocated(), 0
    for _, batch in dataclasses.replace(block, batch_rows=10_000).batches():
        most = max(most, pool.bytes_allocated() - before)
        assert batch.num_rows <= 10_000
    # The row group has 64 MB, a batch 1.6 MB, the buffers of all columns 5 MB.
    assert 1.6e6 < most < 20e6


def test_arrow_files_and_csv_have_the_same_rows(tmp_path, monkeypatch):
    small_blocks(monkeypatch)
    frame = clusters()
    (tmp_path / "arrow").mkdir()
    (tmp_path / "csv").mkdir()
    pyarrow.feather.write_feather(
        pa.Table.from_pandas(frame, preserve_index=False), tmp_path / "arrow" / "rows.feather", chunksize=40
    )
    frame[:500].to_csv(tmp_path / "csv" / "0.csv", index=False)
    frame[500:].to_csv(tmp_path / "csv" / "1.csv", index=False)
    for name in ("arrow", "csv"):
        source = find_source([tmp_path / name], staged=tmp_path / "staged")
        whole = pd.concat([part for block in source.blocks for _, part in block.frames()])
        pd.testing.assert_frame_equal(whole, frame, check_index_type=False)


@pytest.mark.parametrize("damage", [0.02, 0.3, 0.6, 0.97, 1.0, "cut", "empty"])
def test_staged_rows_that_are_others_are_staged_again(tmp_path, damage):
    for number in range(2):
        clusters(40, seed=number).to_csv(tmp_path / f"{number}.csv", index=False)
    files = [tmp_path / "0.csv", tmp_path / "1.csv"]
    find_source(files, staged=tmp_path / "staged")
    first, second = sorted((tmp_path / "staged").iterdir())
    whole, untouched = second.read_bytes(), first.stat().st_mtime_ns
    if isinstance(damage, float):
        place = min(int(damage * len(whole)), len(whole) - 1)
        second.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
    else:
        second.write_bytes(whole[:-50] if damage == "cut" else b"")
    find_source(files, staged=tmp_path / "staged")
    assert second.read_bytes() == whole
    assert first.stat().st_mtime_ns == untouched


def test_csv_of_other_lands(tmp_path):
    (tmp_path / "rows.csv").write_text("size;name\n1,5;a\n2,25;b\n", encoding="utf-8")
    source = find_source([tmp_path / "rows.csv"], staged=tmp_path / "staged")
    (_, frame), *_ = source.blocks[0].frames()
    assert frame["size"].tolist() == [1.5, 2.25]


def test_csv_that_changes_its_mind_is_told(tmp_path, monkeypatch):
    from whyclust.blocks import staging

    monkeypatch.setattr(staging, "PARSED", 1 << 10)
    lines = ["size", *(str(number) for number in range(2000)), "many"]
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"rows\.csv' cannot be read by block .*Write it as Parquet"):
        find_source([tmp_path / "rows.csv"], staged=tmp_path / "staged")
    assert not list((tmp_path / "staged").glob("*.parquet"))


@pytest.mark.parametrize(
    ("second", "told"),
    [
        (pd.DataFrame({"a": [1.0]}), "do not both have the column 'b'"),
        (pd.DataFrame({"b": [1.0], "a": [1.0]}), "have their columns in different orders"),
        (pd.DataFrame({"a": ["x"], "b": [1.0]}), "column 'a' is double in"),
    ],
)
def test_files_with_other_columns_are_refused(tmp_path, second, told):
    pd.DataFrame({"a": [1.0], "b": [2.0]}).to_parquet(tmp_path / "0.parquet")
    second.to_parquet(tmp_path / "1.parquet")
    with pytest.raises(ValueError, match=told):
        find_source([tmp_path])


def test_the_index_of_pandas_is_told_apart(tmp_path):
    frame = pd.DataFrame({"a": [1.0, 2.0]})
    frame.to_parquet(tmp_path / "counted.parquet")
    frame.set_axis([7, 3]).to_parquet(tmp_path / "numbers.parquet")
    frame.set_axis(pd.Index([7, 3], name="customer")).to_parquet(tmp_path / "named.parquet")
    found = {path.stem: find_source([path]).index for path in tmp_path.iterdir()}
    assert found == {"counted": (), "numbers": ("__index_level_0__",), "named": ("customer",)}


def test_csv_with_further_columns_is_refused(tmp_path):
    (tmp_path / "0.csv").write_text("a\n1\n")
    (tmp_path / "1.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="do not both have the column 'b': expected the same columns"):
        find_source([tmp_path], staged=tmp_path / "staged")


@pytest.mark.parametrize("kind", ["parquet", "feather", "csv"])
def test_names_of_folders_are_columns(tmp_path, monkeypatch, kind):
    small_blocks(monkeypatch)
    frame = clusters(90)[["a", "b", "colour"]]
    frame["part"] = np.repeat([1, 2, 10], 30)
    for (part, colour), rows in frame.groupby(["part", "colour"]):
        folder = tmp_path / "in" / f"part={part}" / f"colour={colour}"
        folder.mkdir(parents=True)
        if kind == "csv":
            rows[["a", "b"]].to_csv(folder / "rows.csv", index=False)
        else:
            getattr(rows[["a", "b"]].reset_index(drop=True), f"to_{kind}")(folder / f"rows.{kind}")
    source = find_source([tmp_path / "in"], staged=tmp_path / "staged")
    assert source.columns == ("a", "b", "part", "colour")
    assert "colour" in source.texts
    whole = pd.concat([part for block in source.blocks for _, part in block.frames()])
    # As folders are sorted: by their names.
    order = frame.assign(part=frame["part"].astype(str)).sort_values(["part", "colour"], kind="stable").index
    expected = frame.loc[order, list(source.columns)].reset_index(drop=True)
    pd.testing.assert_frame_equal(whole, expected, check_dtype=False, check_index_type=False)
    alone = pd.concat([part for block in source.blocks for _, part in block.frames(["colour"])])
    assert alone["colour"].tolist() == expected["colour"].tolist()
    # Below a folder its own name says nothing.
    assert find_source([tmp_path / "in" / "part=1"], staged=tmp_path / "more").columns == ("a", "b", "colour")


def test_folders_that_hold_other_columns_are_refused(tmp_path):
    parquet(pd.DataFrame({"a": [1.0]}), tmp_path / "x=1", n_files=1)
    parquet(pd.DataFrame({"a": [1.0]}), tmp_path / "y=1", n_files=1)
    with pytest.raises(ValueError, match="do not both have the column 'x'"):
        find_source([tmp_path])


def test_what_has_no_blocks_is_refused(tmp_path):
    (tmp_path / "table.xlsx").write_bytes(b"PK")
    with pytest.raises(ValueError, match=r"table\.xlsx' cannot be read by block: expected Parquet"):
        find_source([tmp_path])
    with pytest.raises(ValueError, match="does not exist"):
        find_source([tmp_path / "nothing"])
    (tmp_path / "bad.parquet").write_bytes(b"no parquet")
    with pytest.raises(ValueError, match=r"bad\.parquet' is no Parquet file, or it is damaged"):
        find_source([tmp_path / "bad.parquet"])


def test_the_file_that_is_in_the_way_is_named(tmp_path):
    folder = tmp_path / "big"
    folder.mkdir()
    (folder / "_SUCCESS").write_text("")
    with pytest.raises(ValueError, match="big' is empty, but for names that begin with"):
        find_source([folder], staged=tmp_path / "staged")
    for number in range(3):
        (folder / f"{number}.csv").write_text("a\n1\n")
    pd.DataFrame({"a": [1.0]}).to_parquet(folder / "more.parquet")
    with pytest.raises(ValueError, match=r"more\.parquet', among CSV files, cannot be read by block"):
        find_source([folder], staged=tmp_path / "staged")
    (folder / "readme.txt").write_text("mine")
    with pytest.raises(ValueError, match=r"readme\.txt', among CSV files, cannot be read by block"):
        find_source([folder], staged=tmp_path / "staged")


# ---- facts ----


def test_facts_of_blocks_make_the_plan_of_the_table(table):
    frame, source = table
    names = [*COLUMNS, "colour"]
    state = FactsState(tuple(names), ("group",), 1.0)
    parts = [BlockFacts.of_parts(block_facts(block, state)) for block in source.blocks]
    found = total(parts)
    one, other = plan_columns(found.facts).to_json(), plan_columns(column_facts(frame, names)).to_json()
    for mine, theirs in zip(one["columns"], other["columns"], strict=True):
        for key in ("center", "scale"):
            assert largest(mine.pop(key, 0.0), theirs.pop(key, 0.0)) < BOUND
    assert one == other
    pd.testing.assert_frame_equal(found.sample[frame.columns], frame, check_index_type=False)


def test_what_a_stage_has_found_comes_back_from_files(table):
    _, source = table
    state = FactsState((*COLUMNS, "colour"), ("group",), 0.3)
    found = block_facts(source.blocks[1], state)
    content, arrays = pack(found)
    back = unpack(json.loads(json.dumps(content)), arrays)
    for name in COLUMNS:
        assert back["facts"][name].numbers.moments.mean == found["facts"][name].numbers.moments.mean
    assert back["facts"]["colour"].texts.counts == found["facts"]["colour"].texts.counts
    sample = BlockFacts.of_parts(back).sample
    pd.testing.assert_frame_equal(sample, BlockFacts.of_parts(found).sample)


def test_columns_of_too_many_texts_are_let_go(table, monkeypatch):
    from whyclust.blocks import facts

    monkeypatch.setattr(facts, "MOST_TEXTS", 2)
    _, source = table
    state = FactsState(("a", "colour"), (), 1.0)
    found = total(BlockFacts.of_parts(block_facts(block, state)) for block in source.blocks)
    assert found.varied == ("colour",)
    assert list(found.facts) == ["a"]


def test_rows_are_drawn_by_their_place():
    rows = np.arange(100_000)
    whole = drawn(rows, 0.05)
    assert np.array_equal(np.concatenate([drawn(rows[:777], 0.05), drawn(rows[777:], 0.05)]), whole)
    # Five standard deviations of so many independent draws.
    assert abs(whole.sum() - 5000) < 5 * np.sqrt(100_000 * 0.05 * 0.95)
    one, other = uniform(rows, 1), uniform(rows, 2)
    assert abs(np.corrcoef(one, other)[0, 1]) < 5 / np.sqrt(len(rows))
    assert one.min() >= 0 and one.max() < 1


# ---- preparation ----


@pytest.mark.parametrize("scale", ["auto", "standard", "robust", "none", "rank"])
@pytest.mark.parametrize("names", [COLUMNS, [*COLUMNS, "colour"]], ids=["numbers", "mixed"])
def test_batches_are_prepared_as_frames_are(table, scale, names):
    frame, source = table
    frame = frame.copy()
    plan = plan_columns(column_facts(frame, names), scale=scale)
    prepared = Prepared(plan)
    expected = preparation(plan).transform(plan.apply(frame))
    batches = [batch for block in source.blocks for _, batch in block.batches(prepared.columns)]
    found = np.concatenate([prepared.of_batch(batch) for batch in batches])
    assert found.shape == expected.shape
    assert largest(found, expected) < BOUND


def test_outliers_make_columns_of_both_kinds():
    """Then the transformer has another order of columns than the table."""
    frame = clusters()
    frame.loc[3, "a"] = 1e4
    plan = numbers_plan(frame, "auto")
    assert {column.scaling.kind for column in plan.columns} == {"standard", "robust"}
    batch = pa.RecordBatch.from_pandas(frame[COLUMNS], preserve_index=False)
    assert largest(Prepared(plan).of_batch(batch), preparation(plan).transform(plan.apply(frame))) < BOUND


# ---- k-means ----


@pytest.mark.parametrize("scale", ["standard", "none"])
@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_lloyd_is_that_of_scikit_learn(tmp_path, monkeypatch, scale, offset):
    small_blocks(monkeypatch)
    frame = clusters(n_clusters=5, gaps=True)
    frame[COLUMNS] += offset
    source = find_source([parquet(frame, tmp_path)])
    plan = numbers_plan(frame, scale)
    matrix = preparation(plan).transform(plan.apply(frame))
    start = matrix[:5].copy()
    expected = KMeans(5, init=start, n_init=1, tol=1e-4).fit(matrix)
    found = lloyd(Prepared(plan), start, source.blocks, ThisProcess(), variance=matrix.var(axis=0).mean())
    assert found.converged
    assert found.n_iter == expected.n_iter_ > 3
    assert largest(found.centers, expected.cluster_centers_) < 1e-6


def test_centers_without_rows_are_filled_as_scikit_learn_does(table):
    frame, source = table
    plan = numbers_plan(frame)
    matrix = preparation(plan).transform(plan.apply(frame))
    start = np.concatenate([matrix[:2], np.full((2, len(COLUMNS)), 50.0) + np.arange(2)[:, None]])
    expected = KMeans(4, init=start, n_init=1, max_iter=1).fit(matrix)
    found = lloyd(
        Prepared(plan), start, source.blocks, ThisProcess(), variance=matrix.var(axis=0).mean(), most=1
    )
    assert largest(np.sort(found.centers, axis=0), np.sort(expected.cluster_centers_, axis=0)) < 1e-6


def test_sums_add_up(table):
    frame, source = table
    plan = numbers_plan(frame)
    matrix = preparation(plan).transform(plan.apply(frame))
    state = Centers(Prepared(plan), matrix[:4].copy())
    found = reduce(add, (block_sums(block, state) for block in source.blocks))
    away = ((matrix[:, None] - matrix[None, :4]) ** 2).sum(axis=2)
    labels = away.argmin(axis=1)
    assert found.counts.tolist() == np.bincount(labels, minlength=4).tolist()
    for cluster in range(4):
        assert largest(found.sums[cluster], matrix[labels == cluster].sum(axis=0)) < 1e-10
    assert abs(found.inertia - away.min(axis=1).sum()) < 1e-8


def test_mini_batches_are_running_means(table):
    """The literal loop: each center is the mean of all rows that it has met."""
    from whyclust.blocks import k_means

    frame, source = table
    plan = numbers_plan(frame)
    prepared = Prepared(plan)
    matrix = preparation(plan).transform(plan.apply(frame))
    start = matrix[:3].copy()
    found = mini_batches(prepared, start, source.blocks, ThisProcess(), seed=4)
    centers, met = start.copy(), [[] for _ in range(3)]
    order = np.random.default_rng(4).permutation(len(source.blocks))
    for place in range(0, len(order), k_means.STEP_BLOCKS):
        now = centers.copy()
        for block in np.sort(order[place : place + k_means.STEP_BLOCKS]):
            one = source.blocks[block]
            for row in matrix[one.first_row : one.first_row + one.n_rows]:
                met[((row - now) ** 2).sum(axis=1).argmin()].append(row)
        centers = np.array([np.mean(rows, axis=0) if rows else now[k] for k, rows in enumerate(met)])
    assert largest(found.centers, centers) < 1e-10


class Noticing(ThisProcess):
    """Notes which blocks are handed over together, and with what."""

    def __init__(self):
        self.seen = []

    def map(self, function, blocks, state):
        self.seen.append(([block.number for block in blocks], state))
        return super().map(function, blocks, state)


def test_blocks_of_a_mini_batch_are_in_the_order_of_the_table(table):
    """Sums are then rounded alike, whatever order the batches are in."""
    frame, source = table
    plan = numbers_plan(frame)
    matrix = preparation(plan).transform(plan.apply(frame))
    engine = Noticing()
    mini_batches(Prepared(plan), matrix[:3].copy(), source.blocks, engine, seed=4)
    numbers = [some for some, _ in engine.seen]
    assert all(some == sorted(some) for some in numbers)
    order = [number for some in numbers for number in some]
    assert order != sorted(order)


def test_a_start_draws_other_rows_in_each_pass_and_leaves_lonely_candidates_out(table, tmp_path, monkeypatch):
    frame, source = table
    plan = numbers_plan(frame)
    matrix = preparation(plan).transform(plan.apply(frame))
    weights = []
    fit = KMeans.fit

    def noticed(self, X, y=None, sample_weight=None):
        weights.append(sample_weight)
        return fit(self, X, y, sample_weight)

    monkeypatch.setattr(KMeans, "fit", noticed)
    engine = Noticing()
    # Drawn rows with a cluster that no row of the table is near.
    sample = np.concatenate([matrix, matrix[:50] + 1000.0])
    find_start(Prepared(plan), sample, 4, source.blocks, engine, Job(tmp_path, {"job": "start"}), seed=7)
    assert [task.state[2] for _, task in engine.seen[:2]] == [8, 9]
    assert len(weights[-1]) < len(engine.seen[-1][1].state.centers) and min(weights[-1]) > 0
    assert sum(weights[-1]) == len(frame)


def test_far_rows_are_drawn_by_their_squared_distance(table):
    """Over many seeds, each row is the first drawn as often as its share of the squared distances says."""
    frame, source = table
    plan = numbers_plan(frame)
    prepared = Prepared(plan)
    block = source.blocks[0]
    matrix = preparation(plan).transform(plan.apply(frame))[: block.n_rows]
    center = matrix[:1].copy()
    shares = ((matrix - center) ** 2).sum(axis=1)
    shares /= shares.sum()
    often = np.zeros(len(matrix))
    for seed in range(2000):
        drawn_point = block_far_rows(block, (Centers(prepared, center), 1, seed))["points"][0]
        often[np.abs(matrix - drawn_point).sum(axis=1).argmin()] += 1
    far = shares > np.median(shares)
    expected = shares[far].sum()
    # Five standard deviations.
    assert abs(often[far].sum() / 2000 - expected) < 5 * np.sqrt(expected * (1 - expected) / 2000)
    assert often[0] == 0


def test_a_start_finds_what_the_drawn_rows_have_missed(tmp_path, monkeypatch):
    small_blocks(monkeypatch)
    frame = clusters(n_clusters=3)
    frame.loc[500:520, COLUMNS] += 60.0
    source = find_source([parquet(frame, tmp_path / "in")])
    plan = numbers_plan(frame)
    prepared = Prepared(plan)
    matrix = preparation(plan).transform(plan.apply(frame))
    job = Job(tmp_path, {"job": "start"})
    found = find_start(prepared, matrix[:300], 4, source.blocks, ThisProcess(), job)
    assert abs(found.variance - matrix.var(axis=0).mean()) < 1e-10
    nearest = ((matrix[500:521, None] - found.centers) ** 2).sum(axis=2).argmin(axis=1)
    assert len(set(nearest.tolist())) == 1
    others = ((matrix[:500, None] - found.centers) ** 2).sum(axis=2).argmin(axis=1)
    assert nearest[0] not in others


def test_a_fit_goes_on_where_it_was_killed(table, tmp_path):
    frame, source = table
    plan = numbers_plan(frame)
    matrix = preparation(plan).transform(plan.apply(frame))
    start, variance = matrix[:5].copy(), matrix.var(axis=0).mean()
    whole = lloyd(Prepared(plan), start, source.blocks, ThisProcess(), variance=variance)
    job = Job(tmp_path, {"job": "fit"})
    passes = []

    class Killed(ThisProcess):
        def map(self, function, blocks, state):
            passes.append(function.__name__)
            if len(passes) == 4:
                raise KeyboardInterrupt
            return super().map(function, blocks, state)

    with pytest.raises(KeyboardInterrupt):
        lloyd(Prepared(plan), start, source.blocks, Killed(), variance=variance, job=job)
    again = Job(tmp_path, {"job": "fit"}, resume=True)
    found = lloyd(Prepared(plan), start, source.blocks, Killed(), variance=variance, job=again)
    assert np.array_equal(found.centers, whole.centers)
    # The three iterations that were finished are not computed once more.
    assert len(passes) - 1 == whole.n_iter


# ---- engines ----


def row_sum(block, state):
    return state + sum(float(frame["a"].sum()) for _, frame in block.frames(["a"]))


def test_processes_give_results_in_order(table):
    frame, source = table
    expected = list(ThisProcess().map(row_sum, source.blocks, 1.0))
    engine = Processes(2)
    try:
        assert list(engine.map(row_sum, source.blocks, 1.0)) == expected
    finally:
        engine.close()
    assert abs(sum(expected) - len(source.blocks) - frame["a"].sum()) < 1e-8


def deadly(number, folder):
    """End the worker, once for each number; later, give it back."""
    try:
        (folder / str(number)).touch(exist_ok=False)
    except FileExistsError:
        return number
    os._exit(1)


def test_workers_may_be_killed_often_but_not_in_a_row(tmp_path):
    """Each block ends a worker: more kills than are borne in a row, and none of them so."""
    engine = Processes(1)
    n_blocks = MOST_ATTEMPTS + 2
    try:
        assert list(engine.map(deadly, range(n_blocks), tmp_path)) == list(range(n_blocks))
    finally:
        engine.close()
    assert len(list(tmp_path.iterdir())) == n_blocks


def test_workers_end_with_the_process_that_asks():
    code = (
        "import os, time\n"
        "from whyclust.blocks.engines import Processes\n"
        "if __name__ == '__main__':\n"
        "    engine = Processes(1)\n"
        "    print(os.getpid(), *engine.map(pow, [3], 2), flush=True)\n"
        "    print(next(iter(engine._pool._processes)), flush=True)\n"
        "    time.sleep(600)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline().split()[1] == "9"
        worker = int(process.stdout.readline())
    finally:
        process.kill()
    # The pipe is held by the worker, too: it is closed when both have ended.
    assert process.communicate(timeout=60)[0] == ""
    with pytest.raises(ProcessLookupError):
        for _ in range(1000):
            os.kill(worker, 0)
            time.sleep(0.01)


@pytest.mark.parametrize(
    ("name", "options", "told"),
    [
        ("spark", {}, "there is no --engine 'spark', expected process, processes, dask"),
        ("process", {"workers": 2}, "so --workers has nothing to do"),
        ("processes", {"scheduler": "tcp://x:1"}, "--scheduler is that of dask"),
        ("processes", {"workers": 0}, "expected 1 or more"),
    ],
)
def test_engines_that_cannot_be(name, options, told):
    with pytest.raises(ValueError, match=told):
        engine_of(name, **options)


# ---- jobs ----


def counting(block, state):
    with (state / "computed.txt").open("a") as stream:
        stream.write(f"{block.number}\n")
    return {"rows": block.n_rows}


def computed(folder):
    path = folder / "computed.txt"
    return [int(line) for line in path.read_text().split()] if path.exists() else []


def test_no_finished_part_is_computed_twice(table, tmp_path):
    _, source = table
    job = Job(tmp_path, {"k": 3})
    some = job.run("stage", counting, source.blocks, tmp_path, ThisProcess())
    for _ in range(3):
        next(some)
    assert computed(tmp_path) == [0, 1, 2]
    again = Job(tmp_path, {"k": 3}, resume=True)
    found = list(again.run("stage", counting, source.blocks, tmp_path, ThisProcess()))
    assert [one["rows"] for one in found] == [block.n_rows for block in source.blocks]
    assert sorted(computed(tmp_path)) == [block.number for block in source.blocks]
    manifest = read_manifest(again.folder / "manifest.json")
    assert len(manifest["parts"]["stage"]) == len(source.blocks)


def test_a_part_that_has_changed_is_computed_again(table, tmp_path):
    _, source = table
    job = Job(tmp_path, {"k": 3})
    list(job.run("stage", counting, source.blocks, tmp_path, ThisProcess()))
    path = job.folder / "stage" / "000002.npz"
    changed = bytearray(path.read_bytes())
    changed[len(changed) // 2] ^= 1
    path.write_bytes(changed)
    shutil.copy(job.folder / "stage" / "000000.npz", job.folder / "stage" / "000001.npz")
    again = Job(tmp_path, {"k": 3}, resume=True)
    found = list(again.run("stage", counting, source.blocks, tmp_path, ThisProcess()))
    assert computed(tmp_path)[len(source.blocks) :] == [1, 2]
    assert [one["rows"] for one in found] == [block.n_rows for block in source.blocks]


def writing(block, state):
    """A part with a sealed file beside."""
    from whyclust.saving.atomic import write_whole
    from whyclust.saving.digest import seal, sum_of

    table = pa.table({"rows": [block.n_rows]})

    def fill(stream):
        pyarrow.parquet.write_table(table, stream)
        seal(stream)

    counting(block, state)
    name = f"{block.number}.parquet"
    return {"files": {name: sum_of(write_whole(state / "unfinished" / name, fill))}}


def test_a_part_whose_files_are_others_is_computed_again(table, tmp_path):
    _, source = table
    job = Job(tmp_path, {"k": 3})
    list(job.run("stage", writing, source.blocks, tmp_path, ThisProcess()))
    other = dataclasses.replace(source.blocks[1], n_rows=12345)
    writing(other, tmp_path)
    (job.folder / "2.parquet").unlink()
    path = job.folder / "3.parquet"
    changed = bytearray(path.read_bytes())
    changed[5] ^= 4  # the digest inside stays what it was
    path.write_bytes(changed)
    before = len(computed(tmp_path))
    again = Job(tmp_path, {"k": 3}, resume=True)
    list(again.run("stage", writing, source.blocks, tmp_path, ThisProcess()))
    assert computed(tmp_path)[before:] == [1, 2, 3]


def test_a_part_of_the_job_with_another_digest_is_computed_again(table, tmp_path):
    """Whole, and of this job, stage and block, but not what the manifest tells of."""
    from whyclust.blocks.job import Part
    from whyclust.saving.files import save

    _, source = table
    job = Job(tmp_path, {"k": 3})
    list(job.run("stage", counting, source.blocks, tmp_path, ThisProcess()))
    save(Part(job.digest, "stage", 1, {"rows": 12345}), job.folder / "stage" / "000001.npz")
    again = Job(tmp_path, {"k": 3}, resume=True)
    found = list(again.run("stage", counting, source.blocks, tmp_path, ThisProcess()))
    assert [one["rows"] for one in found] == [block.n_rows for block in source.blocks]


def test_a_part_of_another_block_or_job_is_computed_again(table, tmp_path):
    """Also where the manifest tells nothing of it: it is written only now and then."""
    _, source = table
    job = Job(tmp_path, {"k": 3})
    some = job.run("stage", counting, source.blocks, tmp_path, ThisProcess())
    for _ in range(3):
        next(some)
    other = Job(tmp_path / "other", {"k": 4})
    next(other.run("stage", counting, source.blocks, tmp_path / "other", ThisProcess()))
    shutil.copy(job.folder / "stage" / "000002.npz", job.folder / "stage" / "000003.npz")
    shutil.copy(other.folder / "stage" / "000000.npz", job.folder / "stage" / "000000.npz")
    assert read_manifest(job.folder / "manifest.json")["parts"] == {}
    before = len(computed(tmp_path))
    again = Job(tmp_path, {"k": 3}, resume=True)
    found = list(again.run("stage", counting, source.blocks, tmp_path, ThisProcess()))
    assert [one["rows"] for one in found] == [block.n_rows for block in source.blocks]
    assert computed(tmp_path)[before:] == [0, *range(3, len(source.blocks))]


def test_what_was_kept_is_of_its_name_and_job(tmp_path):
    job, other = Job(tmp_path, {"k": 3}), Job(tmp_path / "other", {"k": 4})
    job.keep("one", [1])
    other.keep("three", [3])
    shutil.copy(job.folder / "one.npz", job.folder / "two.npz")
    shutil.copy(other.folder / "three.npz", job.folder / "three.npz")
    assert [job.kept(name) for name in ("one", "two", "three")] == [[1], None, None]


@pytest.mark.parametrize(
    ("before", "now", "told"),
    [
        ({"options": {"k": None, "seed": 0}}, {"options": {"k": 5, "seed": 0}}, "-k was not given, is 5"),
        ({"options": {"k_by": "apart"}}, {"options": {"k_by": "elbow"}}, "--k-by was apart, is elbow"),
        ({"options": {"drop": ["a"]}}, {"options": {"drop": ["a", "b"]}}, "--drop was a, is a,b"),
        ({"options": {"drop": ["a" * 60]}}, {"options": {"drop": []}}, "--drop differs"),
        ({"asked": {"names": {}}}, {"asked": {"names": {"0": "x"}}}, "--names was not given, is 0=x"),
        ({"asked": {"rows": True}}, {"asked": {"rows": False}}, "--no-rows differs"),
        ({"model": "1"}, {"model": "2"}, "--model differs"),
        ({"asked": {"title": "a"}, "files": []}, {"asked": {"title": "b"}, "files": [1]}, "its files have"),
    ],
)
def test_what_differs_is_told(tmp_path, before, now, told):
    Job(tmp_path, before).keep("start", 1)
    with pytest.raises(ValueError, match=rf"is of another job \({told}"):
        Job(tmp_path, now, resume=True)


def test_another_job_is_refused(tmp_path):
    Job(tmp_path, {"k": 3, "files": [["a", 1, 2]]}).keep("start", 1)
    with pytest.raises(ValueError, match="holds a job that was not finished: --resume goes on with it"):
        Job(tmp_path, {"k": 3, "files": [["a", 1, 2]]})
    with pytest.raises(ValueError, match=r"is of another job \(-k was 3, is 4\): name"):
        Job(tmp_path, {"k": 4, "files": [["a", 1, 2]]}, resume=True)
    with pytest.raises(ValueError, match="its files have changed since, or were others"):
        Job(tmp_path, {"k": 3, "files": [["a", 1, 3]]}, resume=True)
    path = tmp_path / "unfinished" / "manifest.json"
    path.write_text(path.read_text().replace('"k": 3', '"k": 4'))
    with pytest.raises(ValueError, match="holds no manifest that can be read"):
        Job(tmp_path, {"k": 4, "files": [["a", 1, 2]]}, resume=True)


def test_a_job_that_has_computed_nothing_is_none(tmp_path):
    Job(tmp_path, {"k": 3, "files": [["a", 1, 2]]})
    for resume in (False, True):
        Job(tmp_path, {"k": 4, "files": [["a", 1, 2]]}, resume=resume)
    assert read_manifest(tmp_path / "unfinished" / "manifest.json")["defined"]["k"] == 4


def test_a_folder_is_held_by_one_process(tmp_path):
    code = (
        "import sys; from pathlib import Path; from whyclust.blocks.lock import locked\n"
        f"with locked(Path({str(tmp_path)!r})):\n"
        "    print('held', flush=True); sys.stdin.read()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout.readline() == "held\n"
        with pytest.raises(ValueError, match=rf"in \(process {process.pid} on"), locked(tmp_path):
            pass
    finally:
        process.kill()
        process.communicate()
    # It was killed, and its lock with it.
    assert list(tmp_path.iterdir())
    with locked(tmp_path):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_lock_on_a_file_that_was_taken_away_is_none(tmp_path, monkeypatch):
    """Whoever held it takes the file away, which another one has opened already."""
    from whyclust.blocks import lock

    path, take, opened = tmp_path / lock.NAME, lock._take, []

    def taken(handle):
        if not opened:
            path.unlink()
        opened.append(handle)
        return take(handle)

    monkeypatch.setattr(lock, "_take", taken)
    with locked(tmp_path):
        assert len(opened) == 2
        with pytest.raises(ValueError, match="is being worked in"), locked(tmp_path):
            pass


# ---- for other engines ----


def test_a_row_has_the_same_line_in_any_block():
    frame = clusters()[COLUMNS]
    network = wc.neuralize(KMeans(3, n_init=1, random_state=0).fit(frame), frame)
    whole = explain_frame(frame, network)
    parts = pd.concat([explain_frame(frame[start : start + 70], network) for start in range(0, 900, 70)])
    pd.testing.assert_frame_equal(parts, whole, rtol=0, atol=BOUND)
    expected = wc.explain(network, frame)
    assert largest(whole.filter(like="relevance."), expected.values) < BOUND
    assert whole["cluster"].tolist() == expected.clusters.tolist()
