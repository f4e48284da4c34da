"""Isolation of workspaces in the database: keys that include the workspace, and row-level security."""
