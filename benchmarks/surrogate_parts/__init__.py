"""The parts of benchmarks/surrogate.py: what is measured on which tables, and the page that tells it."""
