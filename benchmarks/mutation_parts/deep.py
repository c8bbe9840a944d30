"""Mutations of deep clusterings: losses, updates, the loop, checkpoints, explanations."""

from mutation_parts.mutation import Mutation

DEEP = (
    Mutation(
        "DEC's target forgets the clusters' sizes",
        "q**2 / q.sum(dim=0).clamp_min(torch.finfo(q.dtype).tiny)",
        "q**2",
        "test_deep_centroids.py -k target_distribution",
    ),
    Mutation(
        "DEC settles at its first step",
        "settled = step > 0 and",
        "settled = step >= 0 and",
        "test_deep_centroids.py -k 'settled or updated'",
    ),
    Mutation(
        "IDEC's γ forgets the number of columns",
        "self.gamma * batch.x[0].numel() * divergence",
        "self.gamma * divergence",
        "test_deep_centroids.py -k self_training_loss",
    ),
    Mutation(
        "DCN's centroids forget where they were",
        "(before * self.centers + sums) / after",
        "(self.centers + sums) / after",
        "test_deep_centroids.py -k row_by_row",
    ),
    Mutation(
        "DCN weighs its clusters twice",
        "0.5 * self.settings.lam",
        "self.settings.lam",
        "test_deep_centroids.py -k dcn_loss",
    ),
    Mutation(
        "revived centroids keep their count",
        "self.counts[empty] = _FIRST_COUNT",
        "self.counts[empty] += 0",
        "test_deep_robustness.py -k first_count",
    ),
    Mutation(
        "DKM anneals too fast",
        "1.0 / math.log(i) ** 2",
        "1.0 / math.log(i)",
        "test_deep_centroids.py -k annealing",
    ),
    Mutation(
        "CM's merging term keeps its diagonal",
        "(back**2).sum() - (responsibilities**2 @ norms).sum()",
        "(back**2).sum()",
        "test_deep_clustering_module.py -k 'equation_8'",
    ),
    Mutation(
        "shares are not matched with the prior",
        "responsibilities.mean(dim=0).sort().values",
        "responsibilities.mean(dim=0)",
        "test_deep_clustering_module.py -k 'equation_8 or concentrations or prior'",
    ),
    Mutation(
        "centroids are orthogonal but of any length",
        "(gram - torch.eye(len(gram), dtype=gram.dtype, device=gram.device))",
        "(gram - gram.diag().diag())",
        "test_deep_clustering_network.py -k orthonormality",
    ),
    Mutation(
        "C-Net's β has the unit of all columns",
        "variance = total_variance(data) / data.shape[1]",
        "variance = total_variance(data)",
        "test_deep_clustering_network.py -k first_loss",
    ),
    Mutation(
        "the mean of the last weights forgets the first ones",
        "self.mean += (now - self.mean) / self.steps",
        "self.mean += (now - self.mean)",
        "test_deep_clustering_module.py -k mean_of_the_weights",
    ),
    Mutation(
        "a thousandth is no progress",
        "before - 1e-3 * abs(before)",
        "before - 1e-1 * abs(before)",
        "test_deep_core.py -k thousandth",
    ),
    Mutation(
        "the learning rate does not fall",
        "return 1 + done * (self.final - 1)",
        "return 1 + 0 * done",
        "test_deep_core.py test_deep_clustering_network.py -k 'literal or learning_rate'",
    ),
    Mutation(
        "the worst start wins",
        "(empty, score) < min(zip(",
        "(empty, score) > min(zip(",
        "test_deep_core.py -k 'lowest_score'",
    ),
    Mutation(
        "starts with empty clusters win by their score",
        "(empty, score) < min(zip(self.empty, self.scores, strict=True))",
        "score < min(self.scores)",
        "test_deep_core.py -k 'empty_clusters_come_last'",
    ),
    Mutation(
        "dropout is not resumed",
        'torch.set_rng_state(tensors["global_generator"])',
        "torch.set_rng_state(torch.get_rng_state())",
        "test_deep_core.py -k dropout",
    ),
    Mutation(
        "batches are not resumed",
        'generator.set_state(tensors["generator"])',
        "generator.set_state(generator.get_state())",
        "test_deep_core.py -k 'starts_are_resumed'",
    ),
    Mutation(
        "a checkpoint of other data is taken",
        "_digest(data.cpu().numpy().tobytes())",
        '""',
        "test_deep_core.py -k 'something_else'",
    ),
    Mutation(
        "Ctrl-C keeps the last state",
        "totals[-1] < self.loss or not self.phase.comparable",
        "True",
        "test_deep_core.py -k ctrl_c_keeps",
    ),
    Mutation(
        "a cluster that swallows the others is not reported",
        "if len(self.empty_clusters_) or share > _SWALLOWED:",
        "if len(self.empty_clusters_):",
        "test_deep_robustness.py -k swallows",
    ),
    Mutation(
        "the last layer's bias is not folded",
        "biases + weights @ last.offset",
        "biases",
        "test_deep_explained.py -k 'literal or assigns'",
    ),
    Mutation(
        "a step before an encoder loses its origin",
        "offset - matrix @ origin",
        "offset - 0.0 * matrix @ origin",
        "test_deep_robustness.py test_deep_explained.py -k 'pca or linear_step'",
    ),
    Mutation(
        "the first layer is seen from zero",
        "return Centered(self.seen, found)",
        "return found",
        "test_deep_explained.py test_deep_robustness.py -k 'literal or seen_from'",
    ),
    Mutation(
        "samples of a cluster all have unit spread",
        "self.decode(center + scale * noise * spread)",
        "self.decode(center + scale * noise)",
        "test_deep_core.py -k generated_rows",
    ),
    Mutation(
        "a saved trunk is not compared with what comes back",
        "np.array_equal(here.activations(rows), again.activations(rows))",
        "len(rows) > 0",
        "test_deep_explained.py -k 'more_than_they_say'",
    ),
)
