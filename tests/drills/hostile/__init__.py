"""Hostile requests over HTTP, as an attacker or an accident would send them: each is answered in time."""
