"""Embedders, which turn text into vectors: local models, HTTP endpoints, `hash` and `none`.

Only `configured`, `checks` and endpoints import Django.
"""
