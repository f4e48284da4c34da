"""The embedded stack: PostgreSQL, Redis, the supervisor of all processes, and their heartbeats."""
