"""Consistency drill: two nodes have to keep the guarantees of docs/consistency.md.

`python -m tests.drills.consistency --operations 10000 --seed 1` lets clients write and read through both
nodes concurrently, and checks the history of operations for violations. The checker is tested with
hand-written histories, one for each violation.
"""
