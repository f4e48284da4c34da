"""The models, stores and clients of this process that are built from the settings."""

from functools import cached_property
from typing import TYPE_CHECKING, Any

from django.apps import apps
from django.utils.module_loading import import_string

if TYPE_CHECKING:
    from kebab.runtime.context_executor import ContextExecutor
    from search.answers.model.configured import ChatModel
    from search.engine.cursors import CursorStore
    from search.mcp.cancellation import CancelledCalls
    from search.mirror.sync.last_used import UseRecorder
    from search.query_log.buffer import QueryLog
    from search.retrieval.fusion.rerank import Reranker


def _built_by(path: str) -> Any:
    """Return an attribute that the function with this dotted path builds when it is first read."""
    return cached_property(lambda _: import_string(path)())


class SearchRuntime:
    """The parts of the app `search` that exist once per process, each built when it is first used."""

    #: None without a model.
    chat_model: "ChatModel | None" = _built_by("search.answers.model.configured.make_model")
    #: None without a reranker.
    reranker: "Reranker | None" = _built_by("search.rerank.configured.make_reranker")
    cursor_store: "CursorStore" = _built_by("search.engine.cursors.make_cursor_store")
    cancelled_calls: "CancelledCalls" = _built_by("search.mcp.cancellation.make_cancelled_calls")
    query_log: "QueryLog" = _built_by("search.query_log.recorder.make_query_log")
    use_recorder: "UseRecorder" = _built_by("search.mirror.local_mirrors.make_use_recorder")
    leg_executor: "ContextExecutor" = _built_by("search.mirror.local_mirrors.make_leg_executor")


def runtime() -> SearchRuntime:
    """Return the runtime of this process, which the app holds."""
    found: SearchRuntime = apps.get_app_config("search").runtime  # type: ignore[attr-defined]  # of its subclass
    return found
