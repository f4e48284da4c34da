"""Three hosts on one machine: a database, two search-and-worker nodes, and a network that can be cut.

`python -m tests.drills.hosts` plays all scenes inside a network namespace of its own (`--help` lists what can
be varied); without root's rights it takes a user namespace. Nothing of the machine's own network is touched.
"""
