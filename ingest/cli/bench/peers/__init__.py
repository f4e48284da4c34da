"""Kebab beside what a team could pick instead: the same chunks, vectors and queries, in one run, by turns.

A peer is compared with where its package is installed (deploy/requirements-peers.txt). None embeds anything:
each is given the stored vectors, and the vectors of the queries. Peers give bare ids; Kebab embeds its
queries itself and gives whole hits, read back under rights.
"""
