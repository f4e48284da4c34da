"""The shared parts of the Django admin: the site, fast lists, read-only rows."""
