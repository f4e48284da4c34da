"""Compiled queries and commit hooks on top of Django's ORM."""
