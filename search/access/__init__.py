"""Read access: search scope, restrictions of sources, querysets."""
