"""Clients that misbehave, and their effect on other clients."""
