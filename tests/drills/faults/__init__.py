"""Faults planted one at a time, which the default tests must detect."""
