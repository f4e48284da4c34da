"""Markdown as a page shows it: a stretch of lines, rendered, safe, with the cited lines marked."""
