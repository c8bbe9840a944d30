"""Mutations of metrics, baselines, imputation and the audit's verdict."""

from mutation_parts.mutation import Mutation

METRICS = (
    Mutation(
        "removal begins with the least relevant column",
        'signed = -relevance if order == "insert" else relevance',
        "signed = -relevance",
        "test_flipping.py -k 'hand or loops'",
    ),
    Mutation(
        "the curve of removal is not turned",
        "hits = hits[::-1]",
        "hits = hits[:]",
        "test_flipping.py -k 'hand or loops'",
    ),
    Mutation(
        "the area is that of steps, not of trapezia",
        "(hits[1:] + hits[:-1]).sum(axis=0) / 2.0",
        "(hits[1:] + hits[1:]).sum(axis=0) / 2.0",
        "test_flipping.py -k 'hand or loops'",
    ),
    Mutation(
        "ties follow the order of columns",
        "np.lexsort((generator.random(signed.shape), signed), axis=1)",
        "np.lexsort((0.0 * generator.random(signed.shape), signed), axis=1)",
        "test_flipping.py -k ties",
    ),
    Mutation(
        "absolute decisions are judged by the largest probability",
        "net.evidence_rows(as_rows(points), cluster=clusters) > 0",
        "net.predict_rows(as_rows(points)) == clusters",
        "test_flipping.py -k threshold",
    ),
    Mutation(
        "rows are chosen by whole distances, not by half of them",
        "weights *= 0.5",
        "weights *= 1.0",
        "test_flipping.py -k 'equation_44 or moments'",
    ),
    Mutation(
        "a row has weight in its own density",
        "np.fill_diagonal(weights, 0.0)",
        "np.fill_diagonal(weights, 1.0)",
        "test_flipping.py -k bandwidth",
    ),
    Mutation(
        "purity of classes, not of clusters",
        "table.counts.max(axis=0).sum()",
        "table.counts.max(axis=1).sum()",
        "test_metrics_scores.py",
    ),
    Mutation(
        "clusters that share no row are partners",
        "if table.counts[a, b] > 0]",
        "if table.counts[a, b] >= 0]",
        "test_metrics_scores.py",
    ),
    Mutation(
        "the default radius is between two distances",
        'NEIGHBOUR_SHARE, method="higher"',
        'NEIGHBOUR_SHARE, method="lower"',
        "test_metrics_interpretability.py -k 'radius or neighbour'",
    ),
    Mutation(
        "the pair at the very radius is lost to rounding",
        "within = radius * (1 + 1e-12)",
        "within = radius * (1 - 1e-12)",
        "test_metrics_interpretability.py -k radius",
    ),
    Mutation(
        "a cumulative drop is its level",
        "np.append(full, ordered[:-1]) - ordered",
        "full - ordered",
        "test_metrics_interpretability.py -k 'one_after_the_other'",
    ),
    Mutation(
        "features removed one at a time stay away",
        "if not cumulative:",
        "if cumulative is None:",
        "test_metrics_interpretability.py -k 'faithfulness_by_hand or faithfulness_against'",
    ),
    Mutation(
        "noise is a cluster among others",
        "np.array([not explanation.is_noise(name) for name in names])",
        "np.array([name is not None for name in names])",
        "test_metrics_interpretability.py -k diversity",
    ),
    Mutation(
        "Jaccard similarity from the refit's side",
        "jaccards = (counts / union).max(axis=1)",
        "jaccards = (counts / union).max(axis=0)",
        "test_metrics_stability.py -k 'hand or another_number'",
    ),
    Mutation(
        "rows that left their cluster are correlated, too",
        "kept |= before & after",
        "kept |= before",
        "test_metrics_stability.py -k hand",
    ),
    Mutation(
        "standard errors of the population",
        "known.std(ddof=1) / np.sqrt(len(known))",
        "known.std(ddof=0) / np.sqrt(len(known))",
        "test_metrics_stability.py -k standard_error",
    ),
    Mutation(
        "F1 of precision alone",
        "2 * self.hits / (self.n_selected + self.n_true)",
        "self.hits / np.maximum(self.n_selected, 1)",
        "test_metrics_selection.py",
    ),
    Mutation(
        "pixels that belong to nothing count",
        "array != ignore_label",
        "array != 2 * ignore_label",
        "test_metrics_selection.py",
    ),
    Mutation(
        "features of strength zero are among the top",
        "chosen = strength > 0",
        "chosen = strength >= 0",
        "test_metrics_selection.py test_metrics_interpretability.py -k 'explanation or diversity'",
    ),
    Mutation(
        "integrated gradients at the end of each piece",
        "(step + 0.5) / steps",
        "(step + 1.0) / steps",
        "test_baselines.py -k integrated",
    ),
    Mutation(
        "sensitivity in the units of the columns",
        "asked.gradient(asked.points) / np.where(lengths > 0, lengths, 1.0)",
        "asked.gradient(asked.points)",
        "test_baselines.py -k 'scaler or sensitivity'",
    ),
    Mutation(
        "a column given all columns is drawn by them",
        "choose(np.maximum(every - own, 0.0)",
        "choose(np.maximum(every, 0.0)",
        "test_baselines.py -k kernel_density",
    ),
    Mutation(
        "no better than chance is faithful",
        "if low <= 0:",
        "if low <= -1e9:",
        "test_audit.py -k 'not_trusted or thresholds'",
    ),
    Mutation(
        "a method ahead by less than a point matters",
        'better = found[found["low"] > MATTERS]',
        'better = found[found["low"] > 0]',
        "test_audit.py -k ahead",
    ),
    Mutation(
        "half of the rows in lost clusters are enough",
        "rows[lost].sum() > MOST_ROWS * rows.sum()",
        "rows[lost].sum() >= MOST_ROWS * rows.sum()",
        "test_audit.py -k thresholds",
    ),
    Mutation(
        "a cluster is as stable as the more stable refits say",
        "frame[list(self.known)].min(axis=1)",
        "frame[list(self.known)].max(axis=1)",
        "test_audit.py -k 'less_stable'",
    ),
)
