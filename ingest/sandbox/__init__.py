"""Parsing and chunking in processes of their own, with limits on time and memory."""
