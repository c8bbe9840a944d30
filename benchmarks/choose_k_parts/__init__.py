"""The parts of benchmarks/choose_k.py: tables, criteria, and the page that tells how often each was right."""
