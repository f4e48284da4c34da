"""Backups of the embedded stack, the archive of later changes, and restores."""
