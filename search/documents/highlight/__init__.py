"""Syntax highlighting of code, in a process with resource limits, as the code is untrusted."""
