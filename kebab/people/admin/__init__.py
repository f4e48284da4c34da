"""Workspaces, people and the audit log in the Django admin."""

from kebab.people.admin import audit, people, workspaces  # noqa: F401 - registers
