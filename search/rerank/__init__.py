"""Rerankers: a model in this process or an endpoint over HTTP, behind a time limit and a breaker."""

from search.rerank.configured import configured_reranker

__all__ = ["configured_reranker"]
