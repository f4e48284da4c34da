"""Pages of a document."""
