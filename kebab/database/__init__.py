"""Compiled queries and commit hooks on top of the ORM."""
