"""Synchronisation of mirrors with the change log, and their upkeep."""
