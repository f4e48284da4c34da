"""Ingestion: connectors, parsers, chunkers, jobs, and the tasks that write documents."""
