"""Pages of sources: list, create, edit."""
