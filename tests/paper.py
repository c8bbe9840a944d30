"""The papers' equations, written literally: one point, one neuron, one loop at a time.

Nothing here is fast and nothing here imports whyclust: the library's closed forms are tested
against this file. Equation and proposition numbers are those of "From Clustering to Cluster
Explanations via Neural Networks"; numbers above 14 stand in its supplement.

Three things go beyond the printed equations, and each is marked where it happens:

* support vectors may carry an offset (a weighted LME), and a cluster may own a *background*: a
  constant member without a place in input space;
* Eq. (4) divides by h_k, which is 0/0 on a boundary: :func:`min_take_most_weights` gives
  the ratio R_k / h_k by its limit there;
* the rule called ``expected``, which is the library's own.
"""

import itertools
import math
from dataclasses import dataclass

import numpy as np


@dataclass
class Neuron:
    """One linear neuron h = w·x + b with the point m around which Eq. (4) attributes."""

    weight: np.ndarray
    bias: float
    reference: np.ndarray

    def activation(self, x):
        """The neuron's response to one point."""
        total = self.bias
        for i in range(len(x)):
            total += self.weight[i] * x[i]
        return total


def squared_distance(x, u):
    """‖x − u‖²."""
    total = 0.0
    for i in range(len(x)):
        total += (x[i] - u[i]) ** 2
    return total


def squared_norm(u):
    """‖u‖²."""
    return squared_distance(u, np.zeros(len(u)))


def competitors_of(n_clusters, c):
    """All k ≠ c, ascending."""
    return [k for k in range(n_clusters) if k != c]


# --------------------------------------------------------------------------- pooling functions


def log_mean_exp(values, stiffness):
    """Eq. (7): LME^s{v} = 1/s · log(1/N Σ exp(s v)); a soft minimum for s < 0."""
    log_weights = [-math.log(len(values))] * len(values)
    return log_weighted_exp(values, log_weights, stiffness)


def log_weighted_exp(values, log_weights, stiffness):
    """Eq. (7) with weights: 1/s · log Σ exp(s v + log weight)."""
    exponents = [stiffness * v + w for v, w in zip(values, log_weights, strict=True)]
    largest = max(exponents)  # only against overflow
    return (largest + math.log(sum(math.exp(e - largest) for e in exponents))) / stiffness


def softmax(values):
    """exp(v_k) / Σ exp(v)."""
    largest = max(values)
    exponentials = [math.exp(v - largest) for v in values]
    total = sum(exponentials)
    return [e / total for e in exponentials]


# --------------------------------------------------------------------------- detection layers


def k_means_neurons(centers, c, stiffness=1.0, constant=0.0):
    """Layer 1 of Prop. 1 (times τ and plus a constant: supplement E, after Eq. 31)."""
    neurons = []
    for k in competitors_of(len(centers), c):
        neurons.append(pair_neuron(centers[c], centers[k], stiffness, constant))
    return neurons


def pair_neuron(center, competitor, stiffness=1.0, constant=0.0):
    """w_k = 2τ(μ_c − μ_k), b_k = τ(‖μ_k‖² − ‖μ_c‖²) + constant, m_k = (μ_c + μ_k)/2."""
    return Neuron(
        weight=2.0 * stiffness * (center - competitor),
        bias=stiffness * (squared_norm(competitor) - squared_norm(center)) + constant,
        reference=(center + competitor) / 2.0,
    )


def bisecting_neurons(path):
    """One neuron for every step of the way down the tree: the child taken against its sibling."""
    return [pair_neuron(child, sibling) for child, sibling in path]


def linear_neurons(weights, biases, c, constant=0.0):
    """Layer L+1 of Props. 6 and 7: w_k = μ_c − μ_k, reference zero."""
    neurons = []
    for k in competitors_of(len(weights), c):
        neurons.append(
            Neuron(
                weight=weights[c] - weights[k],
                bias=biases[c] - biases[k] + constant,
                reference=np.zeros(weights.shape[1]),
            )
        )
    return neurons


def threshold_constant(n_clusters, threshold):
    """−log(N − 1) + log((1 − θ)/θ), the offset in Eq. (30) and Prop. 7."""
    return -math.log(n_clusters - 1) + math.log((1.0 - threshold) / threshold)


def activations(x, neurons):
    """All h_k of one point."""
    return [neuron.activation(x) for neuron in neurons]


# --------------------------------------------------------------------------- pool and propagation


def hard_evidence(h):
    """f_c = min_k h_k (layer 2 of Prop. 1)."""
    return min(h)


def soft_evidence(h):
    """f_c = LME^{-1} h_k (Eq. 30, Prop. 7)."""
    return log_mean_exp(h, -1.0)


def min_take_most(h, beta):
    """Eq. (2): R_k = exp(−β h_k) / Σ exp(−β h) · f_c."""
    shares = softmax([-beta * value for value in h])
    return [share * hard_evidence(h) for share in shares]


def expected(h, beta, assigned):
    """The library's own rule: R_k = p_k h_k, scaled to sum to f_c for the assigned cluster."""
    shares = softmax([-beta * value for value in h])
    relevance = [share * value for share, value in zip(shares, h, strict=True)]
    if not assigned:
        return relevance
    total = sum(relevance)
    ratio = hard_evidence(h) / total if total != 0.0 else 1.0
    return [ratio * value for value in relevance]


def soft_min_take_most(h):
    """Eq. (2) with β = 1 under an LME, reassigned by R_k ← R_k · h_k / f_c (after Prop. 7)."""
    shares = softmax([-value for value in h])
    evidence = soft_evidence(h)
    relevance = [share * evidence for share in shares]
    return [r * (value / evidence) for r, value in zip(relevance, h, strict=True)]


def propagate(x, neurons, relevance):
    """Eq. (4): R_i = Σ_k (x_i − m_ik) w_ik / Σ_i (x_i − m_ik) w_ik · R_k.

    A neuron whose bias is not −w·m has a part of h_k that no feature carries; as for any biased
    linear layer the denominator is then h_k itself, and that part stays in the base.
    """
    result = np.zeros(len(x))
    for neuron, r in zip(neurons, relevance, strict=True):
        denominator = neuron.activation(x)
        for i in range(len(x)):
            result[i] += (x[i] - neuron.reference[i]) * neuron.weight[i] / denominator * r
    return result


def min_take_most_weights(h, beta):
    """α_k = p_k · f_c / h_k, continued to the boundary by f_c / h_k = 1 where h_k = f_c."""
    shares = softmax([-beta * value for value in h])
    evidence = hard_evidence(h)
    return [
        share * (1.0 if value == evidence else evidence / value)
        for share, value in zip(shares, h, strict=True)
    ]


def expected_weights(h, beta, assigned):
    """α_k of :func:`expected`; the ratio of f_c to Σ p h is 1 where both vanish."""
    shares = softmax([-beta * value for value in h])
    if not assigned:
        return shares
    total = sum(share * value for share, value in zip(shares, h, strict=True))
    ratio = hard_evidence(h) / total if total != 0.0 else 1.0
    return [ratio * share for share in shares]


def propagate_weights(x, neurons, weights):
    """Σ_k α_k (x − m_k) ⊙ w_k: Eq. (4) after R_k / h_k has been cancelled."""
    result = np.zeros(len(x))
    for neuron, weight in zip(neurons, weights, strict=True):
        for i in range(len(x)):
            result[i] += weight * (x[i] - neuron.reference[i]) * neuron.weight[i]
    return result


# --------------------------------------------------------------------------- kernel k-means


@dataclass
class Members:
    """The support vectors of one cluster: places, offsets, and a constant background."""

    places: np.ndarray
    offsets: np.ndarray
    background: float = 0.0

    def log_weights(self, gamma):
        """−γ · offset of every member; the background is a member at constant distance 0."""
        weights = [-gamma * offset for offset in self.offsets]
        if self.background > 0.0:
            weights.append(math.log(self.background))
        return weights

    def distances(self, x):
        """‖x − u‖² of every member, 0 for the background."""
        distances = [squared_distance(x, place) for place in self.places]
        if self.background > 0.0:
            distances.append(0.0)
        return distances

    def place(self, position):
        """Where a member is; None for the background, which is nowhere."""
        return self.places[position] if position < len(self.places) else None


def uniform_members(places, gamma):
    """Members as in Eq. (7): the mean, that is offset log|C| / γ."""
    return Members(places, np.full(len(places), math.log(len(places)) / gamma))


def outlier_score(x, members, gamma):
    """o_k = LME^{−γ} of the distances (Eqs. 6, 7), with the members' weights."""
    return log_weighted_exp(members.distances(x), members.log_weights(gamma), -gamma)


def gaussian_kernel(x, u, gamma):
    """K(x, u) = exp(−γ‖x − u‖²)."""
    return math.exp(-gamma * squared_distance(x, u))


def centroid_squared_norm(places, gamma, normalization):
    """‖μ‖² of μ = 1/Z Σ Φ(u_i), by kernel expansion."""
    return sum(gaussian_kernel(u, v, gamma) for u in places for v in places) / normalization**2


def feature_space_distance(x, places, gamma, normalization):
    """‖Φ(x) − μ‖² of Eq. (5), by kernel expansion."""
    product = sum(gaussian_kernel(x, u, gamma) for u in places) / normalization
    return 1.0 - 2.0 * product + centroid_squared_norm(places, gamma, normalization)


def soft_distance_of(distance, places, gamma, normalization):
    """g_c of Eq. (9): Li_1(ξ/2 + Δ)/γ + H/γ, with Li_1(t) = −log(1 − t)."""
    delta = (1.0 - centroid_squared_norm(places, gamma, normalization)) / 2.0
    h = math.log(len(places) / normalization)
    return -math.log(1.0 - (distance / 2.0 + delta)) / gamma + h / gamma


def kernel_forward(x, cluster, competitors, gamma):
    """The four layers of Prop. 5, every neuron: lists h_ijk[k][j][i], h_jk[k][j], h_k[k], f_c."""
    h_ijk, h_jk, h_k = [], [], []
    own_weights = cluster.log_weights(gamma)
    own_distances = cluster.distances(x)
    for competitor in competitors:
        layer_one, layer_two = [], []
        for j, distance_j in enumerate(competitor.distances(x)):
            row = []
            for i, distance_i in enumerate(own_distances):
                u_i, u_j = cluster.place(i), competitor.place(j)
                if u_i is None or u_j is None:
                    row.append(distance_j - distance_i)  # a background has no linear neuron
                else:
                    # layer 1: w_ij = 2(u_i − u_j), b_ij = ‖u_j‖² − ‖u_i‖²
                    row.append(pair_neuron(u_i, u_j).activation(x))
            layer_one.append(row)
            layer_two.append(log_weighted_exp(row, own_weights, gamma))  # soft max
        h_ijk.append(layer_one)
        h_jk.append(layer_two)
        h_k.append(log_weighted_exp(layer_two, competitor.log_weights(gamma), -gamma))  # soft min
    return h_ijk, h_jk, h_k, min(h_k)


def kernel_relevance(x, cluster, competitors, gamma, top_rule):
    """Footnote 1, Eq. (10) and Eq. (4) over all p² neurons of every pair of clusters.

    ``top_rule`` maps the h_k to the R_k of layer 3 (:func:`min_take_most` or :func:`expected`).
    """
    h_ijk, h_jk, h_k, _ = kernel_forward(x, cluster, competitors, gamma)
    relevance_k = top_rule(h_k)
    own_weights = cluster.log_weights(gamma)
    result = np.zeros(len(x))
    for k, competitor in enumerate(competitors):
        other_weights = competitor.log_weights(gamma)
        share_j = softmax([-gamma * h_jk[k][j] + other_weights[j] for j in range(len(other_weights))])
        for j in range(len(other_weights)):
            share_i = softmax([gamma * h_ijk[k][j][i] + own_weights[i] for i in range(len(own_weights))])
            for i in range(len(own_weights)):
                relevance = share_i[i] * share_j[j] * relevance_k[k]  # footnote 1
                relevance *= h_ijk[k][j][i] / h_k[k]  # Eq. (10)
                u_i, u_j = cluster.place(i), competitor.place(j)
                if u_i is None or u_j is None:
                    continue  # no direction: its relevance stays in the base
                result += propagate(x, [pair_neuron(u_i, u_j)], [relevance])  # Eq. (4)
    return result


def kernel_relevance_from_weights(x, cluster, competitors, gamma, weights):
    """:func:`kernel_relevance` after R_ijk / h_ijk has been cancelled: single h_ijk may be 0."""
    h_ijk, h_jk, _, _ = kernel_forward(x, cluster, competitors, gamma)
    own_weights = cluster.log_weights(gamma)
    result = np.zeros(len(x))
    for k, competitor in enumerate(competitors):
        other_weights = competitor.log_weights(gamma)
        share_j = softmax([-gamma * h + w for h, w in zip(h_jk[k], other_weights, strict=True)])
        for j in range(len(other_weights)):
            share_i = softmax([gamma * h + w for h, w in zip(h_ijk[k][j], own_weights, strict=True)])
            for i in range(len(own_weights)):
                u_i, u_j = cluster.place(i), competitor.place(j)
                if u_i is not None and u_j is not None:
                    weight = weights[k] * share_i[i] * share_j[j]
                    result += propagate_weights(x, [pair_neuron(u_i, u_j)], [weight])
    return result


# --------------------------------------------------------------------------- linear features


def minimum_norm_pre_image(matrix, shift, center, around):
    """The x nearest to ``around`` whose image A x + b is as near as can be to a centre."""
    residual = center - (matrix @ around + shift)
    return around + np.linalg.pinv(matrix) @ residual


def linear_feature_relevance(x, matrix, centers, pre_images, c, weights):
    """R_x = Σ_k α_k (x − (μˣ_c + μˣ_k)/2) ⊙ 2(v_c − v_k) with v = Aᵀμ, one competitor a time."""
    result = np.zeros(len(x))
    for weight, k in zip(weights, competitors_of(len(centers), c), strict=True):
        v_c, v_k = matrix.T @ centers[c], matrix.T @ centers[k]
        middle = (pre_images[c] + pre_images[k]) / 2.0
        for i in range(len(x)):
            result[i] += weight * (x[i] - middle[i]) * 2.0 * (v_c[i] - v_k[i])
    return result


# --------------------------------------------------------------------------- Shapley value


def shapley_value(function, x, reference):
    """Supplement B, Eq. (3): by enumerating every coalition of features."""
    d = len(x)
    result = np.zeros(d)
    for i in range(d):
        others = [j for j in range(d) if j != i]
        for size in range(d):
            weight = math.factorial(size) * math.factorial(d - size - 1) / math.factorial(d)
            for coalition in itertools.combinations(others, size):
                without = np.array(reference, dtype=float)
                for j in coalition:
                    without[j] = x[j]
                with_i = without.copy()
                with_i[i] = x[i]
                result[i] += weight * (function(with_i) - function(without))
    return result
