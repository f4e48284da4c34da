"""What the templates of ingest say in words."""
