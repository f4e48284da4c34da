"""Hot paths of searching, each as an action, and the costs of one call."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import redis
from django.conf import settings

from kebab.identity.models import Group, Workspace
from kebab.identity.reader import Reader
from kebab.stack.servers.addresses import redis_client_url
from search.context import ContextRequest, Surroundings, build_context_pack
from search.engine.search import search
from search.engine.suggest import suggest
from search.mirror import local_mirrors
from search.models import EmbeddingSpace
from search.retrieval.query.filters import SearchFilters
from search.retrieval.types import Fusion, Mode, SearchQuery
from tests.drills.regression.corpora import KEEPERS, NAME, QUERY
from tests.drills.regression.mirror_work import watched_mirrors
from tests.drills.regression.postgres_work import postgres_work
from tests.drills.regression.python_work import count_calls, python_work
from tests.support.actors import token_client
from tests.support.api import address

Action = Callable[[], Any]

_FILTERS = SearchFilters(
    lang=("en",), tags_any=("t1", "t2"), path_glob=("logs/*.md",), source=("docs", "notes")
)


def _search_action(workspace: Workspace, mode: Mode, reader: Reader = Reader(), **options: Any) -> Action:  # noqa: B008
    query = SearchQuery(**{"text": QUERY, "mode": mode, **options})

    def ask() -> Any:
        result = search(workspace, query, reader=reader)
        assert result.hits and not result.degraded
        return result

    return ask


def _with_index(workspace: Workspace) -> Action:
    EmbeddingSpace.objects.in_workspace(workspace).update(is_indexed=True)
    return _search_action(workspace, Mode.VECTOR)


def _under_rights(workspace: Workspace) -> Action:
    keepers = Group.objects.get(workspace=workspace, name=KEEPERS)
    return _search_action(workspace, Mode.HYBRID, Reader(groups=frozenset({keepers.pk})))


def _post_action(workspace: Workspace, tail: str, body: Mapping[str, Any]) -> Action:
    client = token_client(workspace, "search")

    def post() -> bytes:
        response = client.post(address(workspace, tail), body, format="json")
        assert response.status_code == 200, response.content
        return bytes(response.content)

    return post


def _over_http(workspace: Workspace) -> Action:
    return _post_action(workspace, "/search", {"q": QUERY})


def _next_page(workspace: Workspace) -> Action:
    client = token_client(workspace, "search")
    cursor = client.post(address(workspace, "/search"), {"q": QUERY}, format="json").json()["next_cursor"]
    assert cursor is not None

    def fetch_next() -> bytes:
        response = client.post(address(workspace, "/search"), {"cursor": cursor}, format="json")
        assert response.status_code == 200 and response.json()["hits"], response.content
        return bytes(response.content)

    return fetch_next


def _suggest_action(workspace: Workspace) -> Action:
    def complete() -> Any:
        suggestions = suggest(workspace, "harb", reader=Reader()).suggestions
        assert suggestions
        return suggestions

    return complete


def _pack_action(workspace: Workspace) -> Action:
    around = Surroundings(neighbours=1)
    request = ContextRequest.with_channels(SearchQuery(text=QUERY), surroundings=around)

    def pack() -> Any:
        context_pack = build_context_pack(workspace, Reader(), request)
        assert context_pack.files
        return context_pack

    return pack


#: The measured operations, by their names in the budgets.
OPERATIONS: Mapping[str, Callable[[Workspace], Action]] = {
    "lexical search": lambda workspace: _search_action(workspace, Mode.LEXICAL),
    "vector search": lambda workspace: _search_action(workspace, Mode.VECTOR),
    "vector search by index": _with_index,
    "hybrid search": lambda workspace: _search_action(workspace, Mode.HYBRID),
    "hybrid search by rrf": lambda workspace: _search_action(workspace, Mode.HYBRID, fusion=Fusion.RRF),
    "hybrid search by convex": lambda workspace: _search_action(workspace, Mode.HYBRID, fusion=Fusion.CONVEX),
    "filtered search": lambda workspace: _search_action(workspace, Mode.HYBRID, filters=_FILTERS),
    "search under rights": _under_rights,
    "search for a name": lambda workspace: _search_action(workspace, Mode.HYBRID, text=f"{NAME}()"),
    "search over HTTP": _over_http,
    "next page over HTTP": _next_page,
    "suggestions": _suggest_action,
    "context pack": _pack_action,
}


def counts(action: Action) -> tuple[dict[str, float], Any]:
    """Return the server requests of one call, and its answer; earlier calls fill the caches."""
    local_mirrors.reader_pool().close()
    with watched_mirrors() as mirrors, _redis() as redis_:
        action()
        action()
        mirrors.begin()
        commands = _commands(redis_)
        with postgres_work() as postgres:
            answer = action()
        commands_sent = _commands(redis_) - commands - 1  # reading their number is one
        return {**postgres.figures, **mirrors.figures(), "Redis commands": commands_sent}, answer


def costs(action: Action) -> dict[str, float]:
    """Return the costs of one call for the servers and Python, by measure."""
    found, answer = counts(action)
    local_mirrors.reader_pool().close()
    action()
    calls = count_calls(action)
    for _ in range(2):  # the first call under the tracer allocates more
        with python_work() as python:
            action()
    return {**found, **python.figures, "calls": calls, **_size(answer)}


def _redis() -> redis.Redis:
    return redis.Redis.from_url(redis_client_url(settings.REDIS_URL))


def _commands(client: redis.Redis) -> int:
    stats: Any = client.info("stats")
    return int(stats["total_commands_processed"])


def _size(answer: Any) -> dict[str, int]:
    if not isinstance(answer, bytes):
        return {}
    return {"bytes of the answer": len(answer), "values in the answer": _values(json.loads(answer))}


def _values(node_: Any) -> int:
    """Return the number of objects, lists and plain values."""
    if isinstance(node_, dict):
        return 1 + sum(map(_values, node_.values()))
    return 1 + sum(map(_values, node_)) if isinstance(node_, list) else 1
