"""Keeping copies: backups of the embedded stack, the archive of what happened since, and the way back."""
