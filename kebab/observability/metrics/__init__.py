"""Metrics of a node's processes, all exposed at one address."""
