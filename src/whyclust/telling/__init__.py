"""Explanations told to people: summaries of clusters, and sentences."""
