"""Mutations of clusterings, labels and their surrogates."""

from mutation_parts.mutation import Mutation

CLUSTER = (
    Mutation(
        "residuals without the clusters' means",
        "self.points[inside] - means[self.codes[inside]]",
        "self.points[inside]",
        "test_prototype_surrogate.py -k residuals",
    ),
    Mutation(
        "few prototypes are thought to cover less",
        "freedom = max(1.0 - len(counts) / n_inside, 0.1)",
        "freedom = 1.0",
        "test_prototype_surrogate.py -k spread",
    ),
    Mutation(
        "noise begins at the median row",
        "np.quantile(logits.max(axis=1), 0.02)",
        "np.quantile(logits.max(axis=1), 0.5)",
        "test_prototype_surrogate.py -k noise_begins",
    ),
    Mutation(
        "probabilities are not calibrated",
        "self.gamma_ * _temperature(logits, of_deals)",
        "self.gamma_",
        "test_prototype_surrogate.py -k unit_of_gamma",
    ),
    Mutation(
        "the certificate takes the folds that chose",
        "Validation(rows, self.cv, seed + 10,",
        "Validation(rows, self.cv, seed,",
        "test_prototype_surrogate.py -k certificate",
    ),
    Mutation(
        "only the very best setting is near the best",
        "<= error * (1 + 1e-9)",
        "<= 0.0 * error",
        "test_prototype_surrogate.py -k smoothest",
    ),
    Mutation(
        "columns are left out until it hurts",
        "levels[max(last - 1, 0)]",
        "levels[last]",
        "test_prototype_surrogate.py -k left_out",
    ),
    Mutation(
        "a column is kept for single prototypes",
        "stays = np.logical_or.reduceat(stays, start.starts, axis=0)[start.members]",
        "stays = 1 * stays > 0",
        "test_prototype_surrogate.py -k near_the_centre",
    ),
    Mutation(
        "the price of moving is not in the gradient",
        "by_vectors += np.float32(self.price) * moved",
        "by_vectors += np.float32(0.0) * moved",
        "test_prototype_surrogate.py -k literal_form",
    ),
    Mutation(
        "rows beyond the sample are not counted",
        "np.concatenate([logits.argmax(axis=1), np.tile(unseen, again.n_deals)])",
        "np.concatenate([logits.argmax(axis=1), np.tile(codes[rest], again.n_deals)])",
        "test_prototype_surrogate.py -k 'nobody or beyond'",
    ),
    Mutation(
        "units of wide tables are not counted as learned",
        "if len(points) >= points.shape[1] or (scale == scale[0]).all():",
        "if len(points) > 0:",
        "test_prototype_surrogate.py -k units_as_learned",
    ),
    Mutation(
        "labels of a partly overlapping index are taken by position",
        "if len(alone) or not own.is_unique:",
        "if not own.is_unique:",
        "test_given_labels.py -k index",
    ),
    Mutation(
        "rows in another order than were clustered",
        "not np.allclose(now, cores)",
        "len(now) < 0",
        "test_given_labels.py -k another_order",
    ),
    Mutation(
        "90% agreement is not enough",
        "if min(kept, own) >= ENOUGH_AGREEMENT:",
        "if min(kept, own) > ENOUGH_AGREEMENT:",
        "test_fidelity.py",
    ),
    Mutation(
        "as many clusters as half of the rows are no labels",
        "if n_clusters > len(found) / 2:",
        "if n_clusters >= len(found) / 2:",
        "test_given_labels.py -k pairs_of_rows",
    ),
    Mutation(
        "a point that is alone may leave its cluster",
        "np.where(counts[labels] > 1, distances, -np.inf)",
        "np.where(counts[labels] > 0, distances, -np.inf)",
        "test_kernel_k_means.py -k empty",
    ),
    Mutation(
        "leaving out a point leaves its own kernel in",
        "norms[rows, labels] -= 2.0 * sums[rows, labels] + diagonal",
        "norms[rows, labels] -= 2.0 * sums[rows, labels]",
        "test_kernel_k_means.py -k leave",
    ),
    Mutation(
        "leave-one-out distances have half of their slope",
        "diagonal[:, None] + 1.0 - 2.0 * similarities",
        "diagonal[:, None] + 1.0 - 1.0 * similarities",
        "test_kernel_k_means.py -k leave",
    ),
    Mutation(
        "the background of standard kernel k-means is twice as large",
        "background = (largest - squared_norms) / 2.0",
        "background = (largest - squared_norms) / 1.0",
        "test_kernel_k_means.py -k 'standard or equation'",
    ),
    Mutation(
        "distances far from zero lose their digits",
        "centre = np.mean(Y, axis=0, dtype=np.float64)",
        "centre = 0.0 * np.mean(Y, axis=0, dtype=np.float64)",
        "test_soft_k_means.py -k digits",
    ),
    Mutation(
        "the objective of mixtures forgets half of log γ",
        "0.5 * len(best) * n_features * np.log(gamma)",
        "0.25 * len(best) * n_features * np.log(gamma)",
        "test_soft_k_means.py test_kernel_k_means.py -k 'objective or equation'",
    ),
    Mutation(
        "of equal starts the last one wins",
        "return best - objective > OBJECTIVE_TOLERANCE * unit",
        "return best - objective > -OBJECTIVE_TOLERANCE * unit",
        "test_kernel_k_means.py -k starts",
    ),
    Mutation(
        "the elbow is found from the first point down",
        "depth = (1.0 - across) - height",
        "depth = height - (1.0 - across)",
        "test_elbow.py",
    ),
    Mutation(
        "CM-EM has no prior",
        "np.maximum(mass + alpha - 1.0, np.finfo(float).tiny)",
        "np.maximum(mass, np.finfo(float).tiny)",
        "test_deep_clustering_module.py -k em",
    ),
    Mutation(
        "CM-EM far from zero loses digits",
        "mean = table.mean(axis=0)",
        "mean = 0.0 * table.mean(axis=0)",
        "test_deep_clustering_module.py -k em",
    ),
)
