"""Checks of `kebab doctor` for blobs, jobs and leftovers of deleted workspaces."""
