"""Settings of a workspace: the registry, and hooks on changes."""
