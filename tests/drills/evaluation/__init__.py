"""Evaluation of searches for names in code: a list of names with their documentation, and its measurement."""
