"""Parsers of Office files."""
