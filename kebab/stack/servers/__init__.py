"""The embedded PostgreSQL and Redis, and connections to external ones."""
