"""Watching folders: a change in one asks for its sync, and never writes anything itself."""
