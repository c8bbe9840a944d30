"""Selectors of columns that need no labels, to put before a clustering.

They are scikit-learn's selectors: ``make_pipeline(StandardScaler(), LaplacianScore(50), KMeans(3))`` is a
clustering of 50 columns, and ``explain`` follows it back to the table. :class:`ConcreteAutoencoder` and
:class:`DUFS` need PyTorch, the extra ``torch``, when they are fitted.
"""

from whyclust.select.concrete_autoencoder import ConcreteAutoencoder
from whyclust.select.dufs import DUFS
from whyclust.select.laplacian_score import LaplacianScore
from whyclust.select.mcfs import MCFS
from whyclust.select.relevance_selector import RelevanceSelector
from whyclust.select.srcfs import SRCFS

__all__ = ["DUFS", "MCFS", "SRCFS", "ConcreteAutoencoder", "LaplacianScore", "RelevanceSelector"]
