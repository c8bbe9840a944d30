"""Parts of the benchmark of rules."""
