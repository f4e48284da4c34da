"""The search engine."""
