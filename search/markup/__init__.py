"""Markup in the texts of chunks, read once, when they are written."""
