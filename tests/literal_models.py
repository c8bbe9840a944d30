"""Fitted models beside the literal networks of tests/paper.py that they should equal.

A literal network is read from the learned state of a model, in float64, and explains one point
with the papers' own equations. It knows nothing of whyclust.
"""

from dataclasses import dataclass

import numpy as np

import paper


@dataclass
class LiteralExplanation:
    """What the equations give for one point and one cluster."""

    values: np.ndarray
    explained: float
    evidence: float

    @property
    def base(self):
        return self.explained - self.values.sum()


def relevance_of_competitors(h, beta, rule, assigned):
    """R_k of the min pool: the rule asked for, ``expected`` where none is."""
    if rule == "min_take_most":
        return paper.min_take_most(h, beta)
    return paper.expected(h, beta, assigned)


class LiteralPrototypes:
    """k-means (Prop. 1) and soft k-means, relative or absolute (supplement E)."""

    def __init__(self, centers, stiffness=1.0, threshold=None):
        self.centers = np.asarray(centers, dtype=np.float64)
        self.n_clusters = len(self.centers)
        self.stiffness = float(stiffness)
        self.threshold = threshold

    def neurons(self, c, against=None):
        if against is not None:  # a pair decides by its difference, with no threshold
            pair = self.centers[[c, against]]
            return paper.k_means_neurons(pair, 0, self.stiffness)
        constant = 0.0
        if self.threshold is not None:
            constant = paper.threshold_constant(self.n_clusters, self.threshold)
        return paper.k_means_neurons(self.centers, c, self.stiffness, constant)

    def assigned(self, x):
        return int(np.argmin([paper.squared_distance(x, center) for center in self.centers]))

    def explain(self, x, c, beta, rule=None, against=None):
        x = np.asarray(x, dtype=np.float64)
        neurons = self.neurons(c, against)
        h = paper.activations(x, neurons)
        if self.threshold is None or against is not None:
            relevance = relevance_of_competitors(h, beta, rule, self.assigned(x) == c)
            evidence = paper.hard_evidence(h)
        else:
            relevance = paper.soft_min_take_most(h)
            evidence = paper.soft_evidence(h)
        return LiteralExplanation(
            paper.propagate(x, neurons, relevance), float(sum(relevance)), float(evidence)
        )


class LiteralTree:
    """Bisecting k-means: c's competitors are the siblings of the nodes on the way down to it."""

    def __init__(self, paths):
        self.paths = paths
        self.n_clusters = len(paths)

    def assigned(self, x):
        for c, path in enumerate(self.paths):
            if min(paper.activations(x, paper.bisecting_neurons(path))) > 0:
                return c
        raise AssertionError("the point lies exactly on a boundary")

    def meeting(self, c, against):
        """The step at which the ways to two clusters part."""
        for own, other in zip(self.paths[c], self.paths[against], strict=False):
            if not np.array_equal(own[0], other[0]):
                return [own]
        raise AssertionError("two leaves always part")

    def explain(self, x, c, beta, rule=None, against=None):
        x = np.asarray(x, dtype=np.float64)
        path = self.paths[c] if against is None else self.meeting(c, against)
        neurons = paper.bisecting_neurons(path)
        h = paper.activations(x, neurons)
        relevance = relevance_of_competitors(h, beta, rule, self.assigned(x) == c)
        return LiteralExplanation(
            paper.propagate(x, neurons, relevance), float(sum(relevance)), float(min(h))
        )


class LiteralKernel:
    """Kernel k-means: the four layers of Prop. 5, all p² neurons of each pair of clusters."""

    def __init__(self, members, gamma):
        self.members = members
        self.n_clusters = len(members)
        self.gamma = float(gamma)

    def assigned(self, x):
        scores = [paper.outlier_score(x, members, self.gamma) for members in self.members]
        return int(np.argmin(scores))

    def explain(self, x, c, beta, rule=None, against=None):
        x = np.asarray(x, dtype=np.float64)
        others = paper.competitors_of(self.n_clusters, c) if against is None else [against]
        competitors = [self.members[k] for k in others]
        assigned = self.assigned(x) == c

        def top_rule(h):
            return relevance_of_competitors(h, beta, rule, assigned)

        _, _, h, evidence = paper.kernel_forward(x, self.members[c], competitors, self.gamma)
        values = paper.kernel_relevance(x, self.members[c], competitors, self.gamma, top_rule)
        return LiteralExplanation(values, float(sum(top_rule(h))), float(evidence))


def blobs(seed, n_points=36, n_features=3):
    """Overlapping groups of unequal width, so that margins are small and norms differ."""
    generator = np.random.default_rng(seed)
    middles = generator.normal(scale=1.5, size=(5, n_features))
    widths = generator.uniform(0.3, 1.2, size=5)
    group = generator.integers(5, size=n_points)
    return middles[group] + widths[group, None] * generator.normal(size=(n_points, n_features))


# --------------------------------------------------------------------------- from fitted models


def literal_of_centers(model, shift=0.0):
    """KMeans and MiniBatchKMeans; ``shift`` is taken off the centres before any arithmetic."""
    return LiteralPrototypes(np.asarray(model.cluster_centers_, dtype=np.float64) - shift)


def literal_of_soft(model, shift=0.0):
    threshold = model.threshold if model.decision == "absolute" else None
    centers = np.asarray(model.cluster_centers_, dtype=np.float64) - shift
    return LiteralPrototypes(centers, model.stiffness_, threshold)


def literal_of_tree(model, shift=0.0):
    """Walk scikit-learn's own tree, the one its ``predict`` goes down."""
    mean = getattr(model, "_X_mean", 0.0)
    paths = [None] * model.n_clusters

    def descend(node, path):
        if node.left is None:
            paths[node.label] = path
            return
        left = np.asarray(node.left.center + mean, dtype=np.float64) - shift
        right = np.asarray(node.right.center + mean, dtype=np.float64) - shift
        descend(node.left, [*path, (left, right)])
        descend(node.right, [*path, (right, left)])

    descend(model._bisecting_tree, [])
    return LiteralTree(paths)


def literal_of_kernel(model, shift=0.0):
    places = np.asarray(model.support_vectors_, dtype=np.float64) - shift
    members = []
    for k in range(model.n_clusters):
        own = np.asarray(model.support_clusters_) == k
        offsets = np.asarray(model.support_offsets_, dtype=np.float64)[own]
        members.append(paper.Members(places[own], offsets, float(model.background_[k])))
    return LiteralKernel(members, model.gamma_)
