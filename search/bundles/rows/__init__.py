"""Rows of a bundle, by section."""
