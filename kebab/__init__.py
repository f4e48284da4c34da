"""Kebab: the Django project, its people and tenancy, its API plumbing and its embedded stack."""

__version__ = "0.2.0"
