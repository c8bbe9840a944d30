"""What `benchmarks/scale.py` is made of."""
