"""The mutations of benchmarks/mutations.py, by subject, and how one is found and checked."""
