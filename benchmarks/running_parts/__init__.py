"""What all benchmarks share: options, files of results, and runs that can be stopped and go on."""
