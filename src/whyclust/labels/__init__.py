"""Labels of any origin, the surrogate that is fitted to them, and how well it agrees."""
