"""How the counts of the structure are taken."""
