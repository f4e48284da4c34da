"""The query log of workspaces, written asynchronously, and its statistics."""
