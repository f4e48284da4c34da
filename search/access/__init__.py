"""What a caller may read: scope, restricted sources, querysets."""
