"""Kebab beside what a team could pick instead, on the same chunks and queries, in one run.

`pip install -r tests/peers/requirements.txt`, then `python -m tests.peers --workspace W` while the stack of a
workspace with vectors runs. Peers give bare ids; Kebab gives whole hits, read back under rights.
"""
