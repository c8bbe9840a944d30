"""scikit-learn's own contract, for every estimator of whyclust.cluster."""

import pytest
from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import parametrize_with_checks

import whyclust.cluster

VARIANTS = {
    "SoftKMeans": [{}, {"stiffness": 0.5, "decision": "absolute"}, {"init": "random"}],
    "KernelKMeans": [
        {"n_init": 2},
        {"gamma": 0.5, "init": "random", "n_init": 2},
        {"algorithm": "standard", "n_init": 2},
        {"algorithm": "leave_one_out", "n_init": 2},
        {"algorithm": "standard", "kernel": "laplacian", "n_init": 2},
        {"algorithm": "leave_one_out", "kernel": "polynomial", "n_init": 2},
    ],
    "SubKMeans": [{}, {"n_components": 1, "n_init": 2}, {"tol": 0.1, "n_init": 2}],
    # Without a search, which takes its time on every one of these tables and is not what they are about.
    "PrototypeSurrogate": [{"n_support": 2, "gamma": 1.0, "shrinkage": 0.0, "standardize": False, "cv": 2}],
}


def estimator_classes():
    exported = [getattr(whyclust.cluster, name) for name in whyclust.cluster.__all__]
    # That of ClusteringModuleEM stands with its other tests: rows are drawn for its first centres.
    others = [item for item in exported if item is not whyclust.cluster.ClusteringModuleEM]
    return [item for item in others if isinstance(item, type) and issubclass(item, BaseEstimator)]


@parametrize_with_checks(
    [
        estimator_class(**parameters)
        for estimator_class in estimator_classes()
        for parameters in VARIANTS.get(estimator_class.__name__, [{}])
    ]
)
# Some checks fit on purpose on data in which clusters cannot be told apart.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scikit_learn_contract(estimator, check):
    check(estimator)
