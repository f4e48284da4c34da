"""Cluster drill: faults of a Patroni cluster under two Kebab nodes that are written to and searched.

`python -m tests.drills.cluster` starts etcd, Patroni with three PostgreSQL, Redis with Sentinel and HAProxy
by the files of deploy/cluster, plays the scenes and judges them. `--help` lists the options.
"""
