"""Django's PostgreSQL backend, which sends the current workspace with every statement."""
