"""The one training loop: phases, updates, checkpoints."""
