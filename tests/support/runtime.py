"""Reset of what this process has built from the settings."""

from search.answers.model.configured import chat_model
from search.engine.cursors import cursor_store
from search.mcp.cancellation import cancelled_calls
from search.mirror.local_mirrors import leg_executor, use_recorder
from search.query_log.recorder import query_log
from search.rerank.configured import reranker


def renew_runtime() -> None:
    """Let models, stores and clients be rebuilt from the current settings."""
    for built in (chat_model, cursor_store, cancelled_calls, leg_executor, use_recorder, query_log, reranker):
        built.cache_clear()


def use_reranker(monkeypatch, reranker) -> None:
    """Let searches use this reranker, None for none."""
    for module in ("engine.run", "answers.passages", "evaluation.guard", "api.search"):
        monkeypatch.setattr(f"search.{module}.reranker", lambda: reranker)
