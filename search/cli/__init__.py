"""Output and lookups of search's commands."""
