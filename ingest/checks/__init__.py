"""Checks of `kebab doctor` on blobs, jobs and what deleted workspaces left behind."""
