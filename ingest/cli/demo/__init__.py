"""`kebab demo`: a stack, an administrator, a workspace with real text, a first search."""
