"""Neuralising: every clustering is a network of features, head and pool."""

from whyclust.network import saved_steps as _saved_steps  # noqa: F401  (registers scikit-learn's)
from whyclust.network import stored as _stored  # noqa: F401  (registers networks themselves)
from whyclust.network.features import AffineMap, Features
from whyclust.network.heads import LinearHead, PrototypeHead, TreeHead
from whyclust.network.network import Neuralized
from whyclust.network.neuralizing import neuralize
from whyclust.network.parts import Parts, neuralizer
from whyclust.network.pools import RULES, MinPool, SoftMinPool
from whyclust.network.quadratic import QuadraticHead
from whyclust.network.records import Relevance
from whyclust.network.steps import Encoding, RowNorm, step_describer
from whyclust.network.values import FactoredValues

__all__ = [
    "RULES",
    "AffineMap",
    "Encoding",
    "FactoredValues",
    "Features",
    "LinearHead",
    "MinPool",
    "Neuralized",
    "Parts",
    "PrototypeHead",
    "QuadraticHead",
    "Relevance",
    "RowNorm",
    "SoftMinPool",
    "TreeHead",
    "neuralize",
    "neuralizer",
    "step_describer",
]
