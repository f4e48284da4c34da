"""Template filters of ingest."""
