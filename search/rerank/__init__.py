"""Rerankers: a local model or an HTTP endpoint, behind a time limit and a circuit breaker."""
