"""What all parts share: the seed and the methods compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.ensemble import RandomForestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from whyclust.cluster import PrototypeSurrogate

SEED = 0

METHODS: dict[str, tuple[str, Callable[[], Any]]] = {
    "surrogate": ("surrogate", lambda: PrototypeSurrogate(random_state=SEED)),
    "tree": ("tree of depth 5", lambda: DecisionTreeClassifier(max_depth=5, random_state=SEED)),
    "forest": ("forest of 100", lambda: RandomForestClassifier(100, random_state=SEED, n_jobs=1)),
    "nearest": ("nearest row", lambda: KNeighborsClassifier(1, n_jobs=1)),
}
OTHERS = tuple(name for name in METHODS if name != "surrogate")
