"""Network drill: a database host, two search-and-worker nodes, and a network that can be cut, on one machine.

`python -m tests.drills.hosts` plays all scenes inside a network namespace of its own (`--help` lists the
options); without root it takes a user namespace. The machine's own network is not touched.
"""
