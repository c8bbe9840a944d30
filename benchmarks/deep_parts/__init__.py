"""What the benchmarks of deep models share."""
