"""Clusterings that are networks by construction.

The estimators follow scikit-learn's conventions and keep what an explanation needs:
prototypes or support vectors, their scale, and the contrast ``beta_`` of the pool.
:class:`PrototypeSurrogate` stands for clusterings that are none.
"""

from whyclust.cluster.choose_k import ChosenK, choose_k
from whyclust.cluster.clustering_module_em import ClusteringModuleEM
from whyclust.cluster.kernel_k_means import KernelKMeans
from whyclust.cluster.prototype_surrogate import PrototypeSurrogate
from whyclust.cluster.soft_k_means import SoftKMeans
from whyclust.cluster.sub_k_means import SubKMeans

__all__ = [
    "ChosenK",
    "ClusteringModuleEM",
    "KernelKMeans",
    "PrototypeSurrogate",
    "SoftKMeans",
    "SubKMeans",
    "choose_k",
]
