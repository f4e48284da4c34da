"""Clients that misbehave, and what others notice of them."""
