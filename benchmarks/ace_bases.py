"""What ACe/DeC, augmentation and soft resets bring to each centroid-based model, paired over seeds.

Every model of a seed begins with the same autoencoder: a linear one as wide as the table for SYNTH-25, one of
ten dimensions for images, and one as wide as the table for pen positions. Classes only score. Prints JSON,
writes ``benchmarks/results/ace_bases.json`` and a page beside it. A run that was stopped goes on.

    WHYCLUST_DATA=... OMP_NUM_THREADS=1 python benchmarks/ace_bases.py --jobs 2
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import Any

import numpy as np

import whyclust as wc
from deep_parts import sets
from deep_parts.models import cache, scored
from deep_parts.tables import of, one_line, values
from running_parts.running import arguments, measure_runs
from whyclust.datasets import make_synth
from whyclust.deep import (
    DCN,
    DEC,
    DKM,
    IDEC,
    ACeDeC,
    AutoencoderKMeans,
    MaskAndJitter,
    TurnAndShift,
)

BASES: dict[str, Any] = {"AE+KM": AutoencoderKMeans, "DCN": DCN, "DEC": DEC, "IDEC": IDEC, "DKM": DKM}
PLAIN, SPACES, AUGMENTED, RESET = "alone", "in two spaces", "augmented", "with soft resets"
BOTH = "in two spaces, augmented"
VARIANTS = (PLAIN, SPACES, AUGMENTED, RESET, BOTH)
WIDTHS = {"usps": 10}
# Pen positions differ in spread between columns; pixels do not.
STANDARDISED = {"pendigits"}
EPOCHS, RESET_EVERY = 60, 20
PRETRAINING = {"synth25": 50, "usps": 100, "pendigits": 50}


@lru_cache(maxsize=1)
def rows_of(data: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    if data == "synth25":
        return make_synth(random_state=seed)
    return sets.rows_of(data, data in STANDARDISED)


def autoencoder(data: str, seed: int, activation: str, epochs: int) -> Any:
    told = f"{wc.__version__} bases {data} {seed} {activation} {epochs}"
    path = cache() / f"{hashlib.sha256(told.encode()).hexdigest()[:16]}.npz"
    if path.exists():
        return wc.load(path)
    X, y = rows_of(data, seed)
    kind: Any = AutoencoderKMeans
    settings = {"hidden": ()} if data == "synth25" else {}
    width = WIDTHS.get(data, min(X.shape[1], 32))
    model = kind(
        len(np.unique(y)),
        embedding_dim=width,
        activation=activation,
        epochs=epochs,
        random_state=seed,
        **settings,
    ).fit(X)
    wc.save(model, path)
    return model


def measure(data: str, base: str, variant: str, seed: int, pretraining: int, epochs: int) -> dict[str, Any]:
    X, y = rows_of(data, seed)
    first = autoencoder(data, seed, "relu" if base == "DKM" else "leaky_relu", pretraining)
    settings: dict[str, Any] = {"autoencoder": first, "random_state": seed}
    if base != "AE+KM":
        settings["epochs"] = epochs
    if variant in (AUGMENTED, BOTH):
        settings["augment"] = TurnAndShift((1, 16, 16)) if data == "usps" else MaskAndJitter()
    if variant == RESET:
        settings["reset_every"] = RESET_EVERY
    model = BASES[base](len(np.unique(y)), **settings)
    deep: Any = ACeDeC
    if variant in (SPACES, BOTH):
        model = deep(model)
    return {"scores": scored(model.fit(X).labels_, y)}


def page(result: dict[str, Any]) -> str:
    runs = result["runs"]
    lines = [
        "# What two spaces, augmentation and soft resets bring",
        "",
        one_line(
            f"""NMI × 100, mean over seeds, and the gain over the model alone, paired: mean ± standard error.
            {EPOCHS} epochs after a pretraining that all models of a seed share. Rows of tables are augmented
            by MaskAndJitter, images by TurnAndShift; resets every {RESET_EVERY} epochs. The weights of DEC
            and IDEC in two spaces were chosen after scored trials on USPS and pen positions, seed 0, where
            earlier ones lost 30 and 29 points (docs/measurements.md)."""
        ),
        "",
    ]
    for data in PRETRAINING:
        own = of(runs, data=data)
        shown = [variant for variant in VARIANTS[1:] if of(own, variant=variant)]
        if not own:
            continue
        lines += [f"## {data}", "", f"| base | alone | {' | '.join(shown)} | seeds |"]
        lines += [f"|---|---|{'---|' * len(shown)}---|"]
        for base in BASES:
            alone = {run["seed"]: run["scores"]["NMI"] for run in of(own, base=base, variant=PLAIN)}
            if not alone:
                continue
            cells = [f"{np.mean(list(alone.values())):.1f}"]
            for variant in shown:
                found = [run for run in of(own, base=base, variant=variant) if run["seed"] in alone]
                if not found:
                    cells.append("–")
                    continue
                gains = np.array([run["scores"]["NMI"] - alone[run["seed"]] for run in found])
                error = f" ± {gains.std(ddof=1) / np.sqrt(len(gains)):.1f}" if len(gains) > 1 else ""
                cells.append(f"{values(found, 'NMI').mean():.1f} ({gains.mean():+.1f}{error})")
            lines.append(f"| {base} | {' | '.join(cells)} | {len(alone)} |")
        lines.append("")
    return "\n".join(lines)


def variants(data: str, base: str) -> list[str]:
    if base == "AE+KM":
        return [PLAIN, SPACES]
    return [PLAIN, SPACES] if data == "synth25" else list(VARIANTS)


def main() -> None:
    options = arguments(__doc__ or "").parse_args()
    chosen = options.sets.split(",") if options.sets else list(PRETRAINING)
    bases = options.models.split(",") if options.models else list(BASES)
    chosen, bases = (["digits"], ["AE+KM", "DEC"]) if options.quick else (chosen, bases)
    keys = [
        {
            "data": data,
            "base": base,
            "variant": variant,
            "seed": seed,
            "pretraining": PRETRAINING.get(data, 2),
            "epochs": 3 if options.quick else EPOCHS,
        }
        for data in chosen
        for seed in range(1 if options.quick else options.seeds or 3)
        for base in bases
        for variant in variants(data, base)
    ]
    measure_runs(options, "ace_bases", keys, measure, page)


if __name__ == "__main__":
    main()
