"""Fusion: run the legs, merge their rankings, re-order the result."""
