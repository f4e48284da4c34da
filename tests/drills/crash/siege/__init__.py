"""Siege: clients of every kind work over HTTP while processes are killed, and check what Kebab promised.

Acknowledged writes are recorded as they happen (`ledger`), every answer with its time (`answers`), and the
periods in which a store was away (`outages`). Kebab's tables are never read.
"""
