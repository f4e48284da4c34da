"""Source code: languages, paths, definitions."""
