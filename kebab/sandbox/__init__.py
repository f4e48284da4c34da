"""Sandbox of untrusted work: child processes with resource limits that answer requests over pipes."""
