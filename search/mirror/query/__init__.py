"""Queries on a mirror."""
