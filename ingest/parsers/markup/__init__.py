"""Parsers of HTML, Markdown and reStructuredText."""
