"""Rendering of PDF pages as images for display."""
