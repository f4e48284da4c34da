"""The drill: processes are killed and servers fail while Kebab works, and nothing may be lost or doubled.

`python -m tests.drills.crash` runs it on stacks and data directories of its own; `--help` lists what can be
varied. With a safeguard switched off (`--without sweep`, …) it has to fail: that is its proof
of power.
"""
