"""Comparison of Kebab with its alternatives: the same chunks, vectors and queries, in one run, by turns.

A peer is measured where its package is installed (deploy/requirements-peers.txt). No peer embeds anything:
each gets the stored vectors, and the vectors of the queries. Peers return bare ids; Kebab embeds its
queries itself and returns whole hits, read back under access rights.
"""
