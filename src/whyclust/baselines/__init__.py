"""Other ways to explain a clustering, to compare with: ``explain(model, X, method="ig")``.

>>> from whyclust.baselines import METHODS, options_of
>>> list(METHODS)
['random', 'squared', 'nca', 'sensitivity', 'ig', 'gradient_shap', 'label_free', 'pda_zero', 'pda_kde',
 'shap', 'forest', 'tree', 'gates', 'gate_halves', 'data_aware', 'sufficient']
>>> options_of("pda_kde")
['on', 'n_samples', 'random_state']

A function registered with :func:`baseline` is one more: ``explain`` and ``audit`` know it by its name.
"""

# Registered in this order, in which they are listed.
from whyclust.baselines import simple, gradients, label_free, removal, shapley, trees, gates  # noqa: F401, I001
from whyclust.baselines import data_aware, sufficing  # noqa: F401
from whyclust.baselines.answers import options_of
from whyclust.baselines.asked import Asked, Attribution
from whyclust.baselines.registry import METHODS, Baseline, baseline

__all__ = ["METHODS", "Asked", "Attribution", "Baseline", "baseline", "options_of"]
