"""Nodes and processes, as known by their heartbeats."""
