"""The shared parts of the Django admin: the site, fast lists, actions with confirmation."""
