"""Queries as an enemy or an accident would send them, through HTTP: each gets its answer, and in time."""
