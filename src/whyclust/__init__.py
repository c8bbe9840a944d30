"""Why is this point in this cluster, and not in another?

whyclust turns a fitted clustering into the small neural network it already is, and
propagates the evidence for a cluster back to the user's own columns.

>>> import whyclust as wc
>>> from sklearn.cluster import KMeans
>>> from sklearn.datasets import load_wine
>>> from sklearn.pipeline import make_pipeline
>>> from sklearn.preprocessing import StandardScaler
>>> X = load_wine(as_frame=True).data
>>> model = make_pipeline(StandardScaler(), KMeans(3, n_init=10, random_state=0)).fit(X)
>>> wc.explain(model, X).values.shape
(178, 13)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from whyclust import baselines, cluster, datasets, deep, metrics, plots, propagate, report, select
    from whyclust.auditing import Audit, audit
    from whyclust.explaining.explain import explain
    from whyclust.explaining.explanation import Explanation
    from whyclust.network import Neuralized, neuralize, neuralizer
    from whyclust.saving import load, save, saved

__version__ = "0.1.0"

__all__ = [
    "Audit",
    "Explanation",
    "Neuralized",
    "audit",
    "baselines",
    "cluster",
    "datasets",
    "deep",
    "explain",
    "load",
    "metrics",
    "neuralize",
    "neuralizer",
    "plots",
    "propagate",
    "report",
    "save",
    "saved",
    "select",
]

# Everything is imported on first use, so that `import whyclust` costs nothing.
_EXPORTS = {
    "Audit": ("whyclust.auditing", "Audit"),
    "Explanation": ("whyclust.explaining", "Explanation"),
    "Neuralized": ("whyclust.network", "Neuralized"),
    "audit": ("whyclust.auditing", "audit"),
    "explain": ("whyclust.explaining", "explain"),
    "load": ("whyclust.saving", "load"),
    "neuralize": ("whyclust.network", "neuralize"),
    "neuralizer": ("whyclust.network", "neuralizer"),
    "save": ("whyclust.saving", "save"),
    "saved": ("whyclust.saving", "saved"),
    "baselines": ("whyclust.baselines", None),
    "cluster": ("whyclust.cluster", None),
    "datasets": ("whyclust.datasets", None),
    "deep": ("whyclust.deep", None),
    "metrics": ("whyclust.metrics", None),
    "plots": ("whyclust.plots", None),
    "propagate": ("whyclust.propagate", None),
    "report": ("whyclust.report", None),
    "select": ("whyclust.select", None),
}


def __getattr__(name: str) -> Any:
    try:
        module_name, attribute = _EXPORTS[name]
    except KeyError:
        raise AttributeError(f"module 'whyclust' has no attribute {name!r}") from None
    module = importlib.import_module(module_name)
    return module if attribute is None else getattr(module, attribute)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
