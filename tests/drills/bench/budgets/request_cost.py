"""Cost of a search request within the web application: processor time and Python calls, without a server."""

import time
from collections.abc import Callable, Sequence
from functools import partial
from http import HTTPStatus
from io import BytesIO
from typing import Any, Final

import orjson

from kebab.cli.errors import CliError
from kebab.http.handlers import ViewHandler
from kebab.identity.models import Workspace
from search.retrieval.types import Mode
from tests.drills.bench.budgets.figures import Figure
from tests.drills.bench.budgets.search import WARM_UP, search_token
from tests.drills.regression.python_work import count_calls

# By kind of request: milliseconds of processor time, and Python calls.
_BUDGETS: Final = {
    "blank": (1.2, 2_000),
    "lexical": (4.0, 4_500),
    "vector": (4.5, 4_500),
    "hybrid": (6.5, 6_000),
}


def request_cost_figures(workspace: Workspace, queries: Sequence[str]) -> list[Figure]:
    """Measure a blank request and one of each mode; counts don't depend on the machine's load."""
    with search_token(workspace) as secret:
        ask = _requester(workspace, secret)
        return [
            *_figures("blank", [""] * len(queries), partial(ask, mode=Mode.HYBRID)),
            *_figures("lexical", queries, partial(ask, mode=Mode.LEXICAL)),
            *_figures("vector", queries, partial(ask, mode=Mode.VECTOR)),
            *_figures("hybrid", queries, partial(ask, mode=Mode.HYBRID)),
        ]


def _figures(kind: str, texts: Sequence[str], ask: Callable[[str], bytes]) -> list[Figure]:
    """Time the first half of the queries, and count the calls of the others."""
    timed = texts[: (len(texts) + 1) // 2]
    counted = texts[len(timed) :] or timed
    for text in texts[:WARM_UP]:
        ask(text)
    started = time.process_time()
    for text in timed:
        ask(text)
    ms = (time.process_time() - started) * 1000 / len(timed)
    calls = count_calls(lambda: [ask(text) for text in counted]) / len(counted)
    most_ms, most_calls = _BUDGETS[kind]
    return [
        Figure(name=f"{kind} request, processor", value=ms, unit="ms", at_most=most_ms),
        Figure(name=f"{kind} request, Python calls", value=calls, unit="calls", at_most=most_calls),
    ]


def _requester(workspace: Workspace, secret: str) -> Callable[..., bytes]:
    application = ViewHandler()

    def ask(text: str, mode: Mode) -> bytes:
        body = orjson.dumps({"q": text, "mode": mode.value})
        environ: dict[str, Any] = {
            "REQUEST_METHOD": "POST",
            "PATH_INFO": f"/api/v1/workspaces/{workspace.slug}/search",
            "SERVER_NAME": "127.0.0.1",
            "SERVER_PORT": "80",
            "REMOTE_ADDR": "127.0.0.1",
            "CONTENT_TYPE": "application/json",
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_AUTHORIZATION": f"Bearer {secret}",
            "wsgi.input": BytesIO(body),
            "wsgi.url_scheme": "http",
        }
        response = application(environ, _start_response)
        answer = b"".join(response)
        response.close()
        if response.status_code != HTTPStatus.OK:
            raise CliError(f"A search is answered by {response.status_code}.", code="search_failed")
        return answer

    return ask


def _start_response(*_: object) -> Callable[[bytes], object]:
    return bytes
