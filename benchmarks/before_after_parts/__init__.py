"""What is timed of two versions."""
