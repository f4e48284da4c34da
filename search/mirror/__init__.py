"""The mirror: one SQLite FTS5 file per workspace and node, a disposable replica of the corpus in Postgres."""
