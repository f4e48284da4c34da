"""Invitations: their life, their mail, their limits."""
