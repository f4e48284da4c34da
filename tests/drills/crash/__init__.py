"""Crash drill: processes are killed and servers fail while Kebab works, and nothing may be lost or doubled.

`python -m tests.drills.crash` runs it on stacks and data directories of its own; `--help` lists the options.
With a safeguard disabled (`--without sweep`, …) the drill has to fail, which proves that it detects faults.
"""
