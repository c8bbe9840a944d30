"""Other ways to explain a clustering, to compare with: ``explain(model, X, method="ig")``.

>>> from whyclust.baselines import METHODS, options_of
>>> list(METHODS)
['random', 'squared', 'pda_zero', 'pda_kde', 'sensitivity', 'ig', 'nca', 'shap', 'gradient_shap',
 'forest', 'tree']
>>> options_of("pda_kde")
['on', 'n_samples', 'random_state']
"""

from whyclust.baselines.answers import METHODS, options_of

__all__ = ["METHODS", "options_of"]
