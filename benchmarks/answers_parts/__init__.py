"""What is measured of answers beyond relevance, and how it is told."""
