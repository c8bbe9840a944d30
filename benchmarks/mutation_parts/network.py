"""Mutations of the network: heads, pools, features, pipelines, β."""

from mutation_parts.mutation import Mutation

NETWORK = (
    # --- pools
    Mutation(
        "min_take_most divides by zero on a boundary",
        "if smallest.min() > 0:",
        "if smallest.min() > -1:",
        "test_pools.py",
    ),
    Mutation(
        "expected divides by zero on a boundary",
        "if everywhere and smallest.min() > 0:",
        "if everywhere and smallest.min() > -1:",
        "test_pools.py",
    ),
    Mutation(
        "min_take_most forgets f/h on a boundary",
        "p *= _ratio(smallest, h)",
        "p *= 1.0",
        "test_pools.py",
    ),
    Mutation(
        "expected conserves where points are not in the cluster",
        "np.where(inside, factor, h.dtype.type(1))",
        "factor",
        "test_closed_forms.py -k equals_the_papers",
    ),
    Mutation(
        "soft minimum of another stiffness",
        "return _softmin(h, smallest, self.stiffness,",
        "return _softmin(h, smallest, 2 * self.stiffness,",
        "test_closed_forms.py test_propositions.py -k 'equals_the_papers or proposition_7'",
    ),
    Mutation(
        "soft minimum forgets the number of competitors",
        "(odds - np.log(_competitors(h)))",
        "(odds - 0.0 * np.log(_competitors(h)))",
        "test_closed_forms.py -k equals_the_papers",
    ),
    # --- β
    Mutation(
        "β falls back on the largest evidence",
        "Mean.of(evidence[evidence > 0])",
        "Mean.of(evidence[evidence == evidence.max()])",
        "test_pools.py",
    ),
    Mutation(
        "β without data counts prototypes, not clusters",
        "weights = (shares / counts)[members]",
        "weights = shares[members]",
        "test_heads.py -k beta",
    ),
    Mutation(
        "β without data leaves room for noise",
        "shares = np.where(counts > 0, shares, 0.0)",
        "shares = 1.0 * shares",
        "test_noise.py -k beta_from_prototypes",
    ),
    # --- heads
    Mutation(
        "constant columns keep their slope",
        "center = np.where(alike, preimages[0], center)",
        "center = np.where(alike, center, center)",
        "test_heads.py",
    ),
    Mutation(
        "constant columns keep what rounding left of them",
        "relative[:, same] = 0.0",
        "relative[:, same] *= 1.0",
        "test_heads.py",
    ),
    Mutation(
        "columns far from zero are not centred",
        "np.abs(center) <= 2.0 * preimages.std(axis=0)",
        "np.abs(center) <= 2e9 * preimages.std(axis=0)",
        "test_closed_forms.py -k equals_the_papers",
    ),
    Mutation(
        "what centres have outside the range of a map is lost",
        "(scale * (outside - offsets))",
        "(scale * (0.0 * outside - offsets))",
        "test_linear_features.py",
    ),
    Mutation(
        "a small part outside the range of a map is rounded away",
        "negligible = 1e-12 *",
        "negligible = 1e-2 *",
        "test_linear_features.py",
    ),
    Mutation(
        "linear head without its base at the reference",
        "bases=(at_center + slopes @ position)",
        "bases=(at_center + 0.0 * (slopes @ position))",
        "test_linear_features.py test_registration.py",
    ),
    Mutation(
        "the level of noise is not scaled",
        "noise.append(nodes, self.scale * self.noise)",
        "noise.append(nodes, self.noise)",
        "test_noise.py -k formulas",
    ),
    Mutation(
        "γ is not divided by the scale",
        "gamma=self.gamma / self.scale",
        "gamma=self.gamma",
        "test_heads.py",
    ),
    Mutation(
        "a background similarity goes into the columns",
        "mass = response.nodes_only / response.total",
        "mass = response.total / response.total",
        "test_closed_forms.py -k equals_the_papers",
    ),
    Mutation(
        "cross terms of a mixing map count twice",
        "cross *= cross.dtype.type(0.5)",
        "cross *= cross.dtype.type(1.0)",
        "test_linear_features.py",
    ),
    Mutation(
        "the right child wins a tie",
        "scores[left] >= scores[left + 1]",
        "scores[left] > scores[left + 1]",
        "test_heads.py",
    ),
    Mutation(
        "a duel in a tree is fought at the root",
        "(self.competes[clusters] & self.holds[others])",
        "self.competes[clusters]",
        "test_closed_forms.py -k equals_the_papers",
    ),
    Mutation(
        "more than 250 clusters overflow a byte",
        "dtype=np.int32 if count > 250 else np.uint8",
        "dtype=np.uint8",
        "test_heads.py",
    ),
    Mutation(
        "bisecting k-means is not moved back by its mean",
        "centers.append(child.center + mean)",
        "centers.append(child.center)",
        "test_closed_forms.py -k equals_the_papers",
    ),
    Mutation(
        "Birch takes a soft nearest subcluster",
        "labels[order], gamma=np.inf)",
        "labels[order], gamma=1.0)",
        "test_center_models.py",
    ),
    # --- mixtures
    Mutation(
        "mixtures far from zero are not centred",
        "(preimages.mean(axis=0) if centred else",
        "(0.0 * preimages.mean(axis=0) if centred else",
        "test_mixtures.py",
    ),
    Mutation(
        "infinite rows of mixtures are answered",
        "response.largest.min() > -limit",
        "not response.largest.min() > limit",
        "test_mixtures.py -k infinite",
    ),
    Mutation(
        "mixtures are explained by the gradient at the point alone",
        "out[rows] += points[rows] * (share @ gradients)",
        "out[rows] += 0.0 * points[rows] * (share @ gradients)",
        "test_mixtures.py -k enumeration",
    ),
    # --- features and pipelines
    Mutation(
        "whitening divides by nothing",
        "matrix / np.maximum(scale, np.finfo(scale.dtype).eps)[:, None]",
        "matrix / scale[:, None]",
        "test_pipelines.py -k whitening",
    ),
    Mutation(
        "pre-images of a branch forget its mean",
        "features.inner.origin if features.inner.mean is None else features.inner.mean",
        "features.inner.origin",
        "test_pipelines.py -k branch",
    ),
    Mutation(
        "a mean behind another step is forgotten",
        "mean = self.preimage(other.mean[None])[0]",
        "mean = None",
        "test_pipelines.py test_linear_features.py",
    ),
    Mutation(
        "MinMaxScaler without its range",
        "scaling(step.scale_, step.data_min_, low)",
        "scaling(step.scale_, step.data_min_, 0.0 * low)",
        "test_pipelines.py",
    ),
    Mutation(
        "tiny rows are normalised",
        "10 * float(np.finfo(encoded.dtype).eps)",
        "0 * float(np.finfo(encoded.dtype).eps)",
        "test_pipelines.py -k tiny",
    ),
    Mutation(
        "gradients through a norm point another way",
        "direction = image * scale[:, None]",
        "direction = image",
        "test_gradient.py",
    ),
    Mutation(
        "columns that a selector drops are read",
        "if used is None or len(used) == features.n_columns:",
        "if used is None or len(used) <= features.n_columns:",
        "test_pipelines.py -k drop",
    ),
    Mutation(
        "a duel takes other competitors in",
        "h[np.arange(len(h))[:, None] != row]",
        "h[np.arange(len(h))[:, None] > row]",
        "test_closed_forms.py -k equals_the_papers",
    ),
    Mutation(
        "what biases of an encoder take is not in the base",
        "base = total - values[rows].sum(axis=1)",
        "base = total",
        "test_deep_explained.py -k sum_to",
    ),
    Mutation(
        "rows taken for noise are told from clusters alone",
        "(clusters != noise) & (assigned != noise)",
        "(clusters != noise)",
        "test_given_labels.py -k takes_for_noise",
    ),
    Mutation(
        "pools with a stiffness of their own are given another",
        "if not self.pool.takes_beta:",
        "if False:",
        "test_registration.py -k pool_of_ones_own",
    ),
    Mutation(
        "a duel is an absolute decision",
        "return MinPool()",
        "return pool",
        "test_absolute_decisions.py -k two_clusters",
    ),
    Mutation(
        "a duel is told by the rule of all competitors",
        '("expected" if against is not None else net.pool.rule)',
        "net.pool.rule",
        "test_absolute_decisions.py -k two_clusters",
    ),
    Mutation(
        "the threshold of a model is not told",
        "threshold=net.pool.threshold)",
        "threshold=None)",
        "test_absolute_decisions.py -k two_clusters",
    ),
    Mutation(
        "noise is counted among the clusters",
        "int(net.head.n_clusters) - has_noise",
        "int(net.head.n_clusters)",
        "test_registration.py -k head_of_ones_own",
    ),
    Mutation(
        "rules without a zero are seen from the mean",
        "name in self.seen and found.sees_zero else found",
        "name in self.seen else found",
        "test_stored_layers.py -k zero_matters",
    ),
    Mutation(
        "rows that are no numbers are led down",
        "if self.rules is None or not all(map(all_finite, parts)):",
        "if self.rules is None:",
        "test_stored_layers.py -k no_way_down",
    ),
    Mutation(
        "sparse rows forget what is added to columns",
        "if self.origin.any() or self.offset.any() or not self.columnwise:",
        "if self.origin.any() or not self.columnwise:",
        "test_linear_features.py -k mapped_as_dense",
    ),
    Mutation(
        "parts of a network may be any number",
        "len(found) not in (3, 4, 5):",
        "False:",
        "test_registration.py -k parts_are_checked",
    ),
    Mutation(
        "some rows keep what belongs to others",
        "index=index, kind=self.kind.take(chosen))",
        "index=index, kind=self.kind)",
        "test_inputs.py -k kept_of_them",
    ),
)
