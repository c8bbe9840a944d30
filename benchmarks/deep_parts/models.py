"""Scores of a model, and where autoencoders that several begin with are kept."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import numpy as np

from whyclust.metrics import adjusted_rand_index, clustering_accuracy, normalized_mutual_information

SCORES = ("ARI", "NMI", "ACC")


def scored(labels: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """The paper's three scores, times 100."""
    found = (
        adjusted_rand_index(y, labels),
        normalized_mutual_information(y, labels),
        clustering_accuracy(y, labels),
    )
    return {name: round(100.0 * float(value), 3) for name, value in zip(SCORES, found, strict=True)}


def cache() -> Path:
    """Where autoencoders that several models begin with are kept between runs."""
    folder = Path(os.environ.get("WHYCLUST_BENCHMARK_CACHE", tempfile.gettempdir())) / "whyclust-benchmarks"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
