"""Data sets of the papers, by name, and generators of those that are made up."""

from whyclust.datasets.dataset import Dataset
from whyclust.datasets.loading import available, load, load_news
from whyclust.datasets.objects import make_objects
from whyclust.datasets.synthetic import make_five_gaussians, make_idc_synthetic, make_synth

__all__ = [
    "Dataset",
    "available",
    "load",
    "load_news",
    "make_five_gaussians",
    "make_idc_synthetic",
    "make_objects",
    "make_synth",
]
