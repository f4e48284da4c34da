"""Clients of every kind work over HTTP while process after process is killed, and hold Kebab to its word.

What was acknowledged is written down as it happens (`ledger`), every answer with its time (`answers`), and
when which store was really away (`outages`). Nothing is looked up in Kebab's own tables.
"""
