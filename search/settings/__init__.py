"""Workspace settings of searches."""
