"""Vectors in pgvector: which space is live, which chunks lack a vector, and the nearest to a query."""
