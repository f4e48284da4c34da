"""Kebab: the Django project, with people and tenancy, API infrastructure and the embedded stack."""

__version__ = "0.3.0"
