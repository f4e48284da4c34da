"""Whether two nodes keep what docs/consistency.md promises: a history of operations, and a checker for it.

`python -m tests.drills.consistency --operations 10000 --seed 1` has clients write and read through both nodes
at the same time, and looks for what no order of the writes can explain. The checker is tested by histories
made by hand, one for each violation.
"""
