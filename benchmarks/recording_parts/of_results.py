"""What is told and written: summaries, sentences, frames, and the files of the command line."""

from __future__ import annotations

import contextlib
import io
import json
import runpy
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.cluster import KMeans
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import whyclust as wc
from recording_parts.cases import AUDIT, CLOSED, TEXT, Numbers, add, case, explained, flat
from recording_parts.data import counts, mixed, wine, wine_classes
from recording_parts.of_pipelines import usual_columns

# Of what the command line computed, this differs between runs that computed the same.
_OF_THE_RUN = ("versions",)


@cache
def wine_explained() -> Any:
    model = make_pipeline(StandardScaler(), KMeans(3, n_init=3, random_state=0)).fit(wine())
    return wc.explain(model, wine())


@cache
def mixed_explained() -> Any:
    model = make_pipeline(usual_columns(), KMeans(3, n_init=3, random_state=0)).fit(mixed())
    return wc.explain(model, mixed())


def told(ex: Any) -> Numbers:
    """Summary and frames of an explanation."""
    summary = ex.summary()
    frame = ex.to_pandas()
    return {
        **flat(summary.to_json(), "summary"),
        "frame": frame.to_numpy(),
        "columns": frame.columns.to_numpy(str),
        "index": frame.index.to_numpy(str),
        "table": summary.to_pandas().to_numpy(str)[:, [0, 3]],
    }


def sentences(ex: Any) -> Numbers:
    rows = (0, 7, len(ex) - 1)
    return {
        "clusters": ex.describe(),
        "two features": ex.describe(top=2),
        **{f"row {row}": ex[row].describe() for row in rows},
        "repr": repr(ex),
        "summary": repr(ex.summary()),
    }


TOLD = {
    "wine": wine_explained,
    "mixed columns": mixed_explained,
    "sparse": lambda: wc.explain(KMeans(3, n_init=2, random_state=0).fit(counts()), counts()),
    "one cluster asked for": lambda: wc.explain(_wine_net(), wine(), cluster=1),
    "a duel": lambda: wc.explain(_wine_net(), wine(), cluster=1, against=0),
}
for name, made in TOLD.items():
    add(f"results: summary of {name}", CLOSED, lambda made=made: told(made()))
    add(f"results: sentences of {name}", TEXT, lambda made=made: sentences(made()))


@cache
def _wine_net() -> Any:
    model = make_pipeline(StandardScaler(), KMeans(3, n_init=3, random_state=0)).fit(wine())
    return wc.neuralize(model, wine())


@case("results: shap's form", CLOSED)
def _shap() -> Numbers:
    found = wine_explained().to_shap()
    return {"values": found.values, "base_values": found.base_values, "names": found.feature_names}


@case("results: saved and loaded", CLOSED)
def _saved() -> Numbers:
    found: Numbers = {}
    with tempfile.TemporaryDirectory() as folder:
        for made, name in ((wine_explained, "wine"), (mixed_explained, "mixed")):
            for suffix in ("parquet", "npz"):
                loaded = wc.load(made().save(Path(folder) / f"{name}.{suffix}"))
                found |= explained(loaded, f"{name}.{suffix}/")
                found[f"{name}.{suffix}/names"] = loaded.feature_names
                found[f"{name}.{suffix}/describe"] = loaded.describe()
        net = wc.load(wc.save(_wine_net(), Path(folder) / "net.npz"))
        return found | explained(wc.explain(net, wine()), "network/")


@case("results: the network as a torch module", CLOSED)
def _module() -> Numbers:
    import torch

    net = wc.neuralize(KMeans(3, n_init=2, random_state=0).fit(wine()), wine())
    module = net.to_torch()
    return {"evidence": module(torch.tensor(wine().to_numpy()))}


def command(table: pd.DataFrame, *words: str) -> Numbers:
    """Run the command line on a CSV file, and read the files that it wrote."""
    with tempfile.TemporaryDirectory() as folder:
        path, out = Path(folder) / "table.csv", Path(folder) / "out"
        table.to_csv(path, index=False)
        before, printed = sys.argv, io.StringIO()
        sys.argv = ["whyclust", words[0], str(path), "--out", str(out), *words[1:]]
        try:
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
                runpy.run_module("whyclust", run_name="__main__")
        except SystemExit as end:
            code = end.code
        finally:
            sys.argv = before
        lines = [line for line in printed.getvalue().splitlines() if str(out) not in line]
        found: Numbers = {"code": int(code or 0), "printed": "\n".join(lines).replace(folder, "")}
        if not out.exists():
            return found
        summary = json.loads((out / "summary.json").read_text(encoding="utf-8"))
        for name in _OF_THE_RUN:
            summary["computed"].pop(name, None)
        found |= flat(summary, "summary")
        clusters = pd.read_csv(out / "clusters.csv")
        found |= {f"clusters.csv/{name}": np.asarray(clusters[name]) for name in clusters.columns}
        found |= explained(wc.load(out / "relevance.parquet"), "relevance/")
        if (out / "audit.json").exists():
            found |= flat(json.loads((out / "audit.json").read_text(encoding="utf-8")), "audit")
        return found | {"files": sorted(entry.name for entry in out.iterdir())}


def with_labels() -> pd.DataFrame:
    return wine().iloc[::2].assign(kind=np.array(["a", "b", "c"])[wine_classes()[::2]])


COMMANDS = {
    "k chosen, texts and missing values": (CLOSED, lambda: mixed().reset_index(), "explain"),
    "rows with names": (CLOSED, lambda: mixed().reset_index(), "explain", "-k", "3", "--id-column", "who"),
    "kernel k-means": (CLOSED, wine, "explain", "-k", "3", "--method", "kernel", "--columns", "alcohol,hue"),
    "soft k-means": (CLOSED, wine, "explain", "-k", "3", "--method", "soft", "--drop", "proline"),
    "labels": (CLOSED, with_labels, "explain", "--labels", "kind"),
    "audit": (AUDIT, lambda: wine()[["alcohol", "hue", "ash", "proline"]], "audit", "-k", "3"),
    "a column that is not there": (TEXT, wine, "explain", "--columns", "alcool"),
}
for name, (kind, table, *words) in COMMANDS.items():
    add(
        f"results: command line, {name}",
        kind,
        lambda table=table, words=words: command(table(), *words),
    )
