"""What the benchmarks of the NEON paper share."""
