"""The crash drill: documents are ingested while processes are killed, and nothing may be lost or doubled.

`python -m tests.drill` runs it on a stack and a data directory of its own; `--help` lists what can be
varied. With a safeguard switched off (`--without sweep`, `--without fence`) it has to fail: that is its proof
of power.
"""
