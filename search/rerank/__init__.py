"""Rerankers: a local model or an HTTP endpoint, behind a time limit and a circuit breaker."""

from search.rerank.configured import configured_reranker

__all__ = ["configured_reranker"]
