"""Filling the corpus: connectors, parsers, chunkers, jobs, and the tasks that write."""
