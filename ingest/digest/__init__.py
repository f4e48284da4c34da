"""Parsing and chunking of documents in sandboxed processes."""
