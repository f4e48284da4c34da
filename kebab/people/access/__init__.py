"""Callers, their access to workspaces, and the access report."""
