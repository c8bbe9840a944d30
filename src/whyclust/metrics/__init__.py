"""Is a clustering good, and is its explanation faithful?

Scores against known classes or another clustering; pixel-flipping (Algorithm 1 of NEON); the
interpretability metrics of IDC; selected features against known ones; stability under refits; heat
maps against segmentation masks.
"""

from __future__ import annotations

from whyclust.metrics.diversity import Diversity, diversity
from whyclust.metrics.faithfulness import Faithfulness, faithfulness
from whyclust.metrics.flipping import FlippingResult, flipping_auc
from whyclust.metrics.masks import HeatmapMatching, match_heatmaps
from whyclust.metrics.scores import (
    Agreement,
    adjusted_rand_index,
    agreement,
    clustering_accuracy,
    normalized_mutual_information,
    purity,
    silhouette,
)
from whyclust.metrics.selection import SelectionScores, selection_scores
from whyclust.metrics.stability import stability
from whyclust.metrics.stability_result import Estimate, Stability
from whyclust.metrics.uniqueness import Uniqueness, uniqueness

__all__ = [
    "Agreement",
    "Diversity",
    "Estimate",
    "Faithfulness",
    "FlippingResult",
    "HeatmapMatching",
    "SelectionScores",
    "Stability",
    "Uniqueness",
    "adjusted_rand_index",
    "agreement",
    "clustering_accuracy",
    "diversity",
    "faithfulness",
    "flipping_auc",
    "match_heatmaps",
    "normalized_mutual_information",
    "purity",
    "selection_scores",
    "silhouette",
    "stability",
    "uniqueness",
]
