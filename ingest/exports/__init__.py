"""Exports of other products, read as their pages, notes and messages instead of their files."""
