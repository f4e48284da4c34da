"""Nodes and processes as their heartbeats describe them."""
