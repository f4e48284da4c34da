"""Vectors in pgvector: embedding spaces, backfill of missing vectors, and nearest-neighbour search."""
