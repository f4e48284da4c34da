"""Measurements of Kebab beside peers, and of how costs grow."""
