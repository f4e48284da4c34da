"""Invitations: life cycle, mail and rate limits."""
