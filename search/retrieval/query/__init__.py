"""Queries: parsing, filters, match expressions."""
