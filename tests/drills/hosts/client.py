"""Requests of every kind, and their outcomes."""

import itertools
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.drills.hosts.node import Node

#: A client disconnects after this time, and gets no answer (status 0).
PATIENCE_S = 45.0
_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """A request and its answer; times come from `time.monotonic`."""

    kind: str
    node: str
    began_s: float
    ended_s: float
    #: 0: no answer.
    status: int
    retry_after: str | None
    body: Any
    #: The path of a written document, which is its Idempotency-Key too.
    path: str = ""
    text: str = ""
    #: The change number of a deletion.
    seq: int | None = None

    @property
    def took_s(self) -> float:
        """Return the seconds from request to answer."""
        return self.ended_s - self.began_s

    @property
    def is_done(self) -> bool:
        """Return whether it succeeded."""
        return 200 <= self.status < 300

    @property
    def is_refusal(self) -> bool:
        """Return whether it was rejected with 503 and Retry-After."""
        return self.status == 503 and (self.retry_after or "").isdigit()

    @property
    def is_put_off(self) -> bool:
        """Return whether it was rejected so, or with 429 and Retry-After."""
        return self.is_refusal or (self.status == 429 and (self.retry_after or "").isdigit())

    def __str__(self) -> str:
        code = self.body.get("code", "") if isinstance(self.body, dict) else ""
        return f"{self.kind} at {self.node}: {self.status or 'no answer'} {code} after {self.took_s:.2f} s"


@dataclass(slots=True, kw_only=True)
class Client:
    """One client of one node, with a token, and a session for pages. Not shared between threads."""

    node: Node
    slug: str
    token: str
    cookies: Mapping[str, str] = field(default_factory=dict)
    _http: httpx.Client | None = None

    def ask(self, kind: str, **more: Any) -> Exchange:
        """Send a request of a kind in `KINDS`."""
        return KINDS[kind](self, **more)

    def send(self, kind: str, method: str, where: str, **options: Any) -> Exchange:
        """Send a request, and return its exchange; `where` is below the workspace, or begins with //."""
        write = {name: options.pop(name) for name in ("path", "text") if name in options}
        url = where[1:] if where.startswith("//") else f"/api/v1/workspaces/{self.slug}{where}"
        began = time.monotonic()
        try:
            answer = self._client().request(method, url, **options)
        except httpx.HTTPError as error:
            self.close()
            error_body = {"code": type(error).__name__}
            return self._exchange(kind, began, status=0, retry_after=None, body=error_body, **write)
        seq = answer.headers.get("Kebab-Seq")
        return self._exchange(
            kind,
            began,
            status=answer.status_code,
            retry_after=answer.headers.get("Retry-After"),
            body=_body(answer),
            seq=None if seq is None else int(seq),
            **write,
        )

    def close(self) -> None:
        """Close the connection; the next request opens another."""
        if self._http is not None:
            self._http.close()
            self._http = None

    def _client(self) -> httpx.Client:
        if self._http is None:
            headers = {"Authorization": f"Bearer {self.token}"}
            self._http = httpx.Client(base_url=self.node.url, headers=headers, timeout=PATIENCE_S)
        return self._http

    def _exchange(self, kind: str, began: float, **fields: Any) -> Exchange:
        return Exchange(kind=kind, node=self.node.name, began_s=began, ended_s=time.monotonic(), **fields)


def _body(answer: httpx.Response) -> Any:
    if "json" in answer.headers.get("Content-Type", ""):
        return answer.json()
    return answer.text


def paths_of(exchange: Exchange) -> list[str]:
    """Return the documents of a search's hits."""
    return [hit["doc_path"] for hit in exchange.body["hits"]]


def _search(client: Client, *, query: str = "harbour", mode: str = "hybrid", **more: Any) -> Exchange:
    return client.send(f"search {mode}", "POST", "/search", json={"q": query, "mode": mode, **more})


def _upload(client: Client, *, waits: bool = False, path: str = "", text: str = "") -> Exchange:
    number = next(_numbers)
    path = path or f"up/{client.node.name}-{number}.md"
    text = text or f"# Note {number}\n\nHarbour note, number{number}.\n"
    return client.send(
        "upload, waiting" if waits else "upload",
        "POST",
        "/documents",
        params={"wait_for": "searchable"} if waits else {},
        headers={"Idempotency-Key": path},
        json={"path": path, "text": text},
        path=path,
        text=text,
    )


def _page(client: Client) -> Exchange:
    return client.send("page", "GET", f"//w/{client.slug}/search?q=harbour", cookies=dict(client.cookies))


def _mcp(client: Client) -> Exchange:
    call = {"name": "search", "arguments": {"query": "harbour"}}
    message = {"jsonrpc": "2.0", "id": next(_numbers), "method": "tools/call", "params": call}
    headers = {"Accept": "application/json, text/event-stream"}
    return client.send("mcp", "POST", "//mcp", json=message, headers=headers)


#: The kinds of requests sent to a node while it is cut off.
KINDS: Mapping[str, Callable[..., Exchange]] = {
    "search": _search,
    "lexical": lambda client, **more: _search(client, mode="lexical", **more),
    "vector": lambda client: _search(client, mode="vector"),
    "documents": lambda client: client.send("documents", "GET", "/documents"),
    "jobs": lambda client: client.send("jobs", "GET", "/jobs"),
    "suggest": lambda client: client.send("suggest", "GET", "/suggest", params={"q": "harb"}),
    "pack": lambda client: client.send(
        "context pack", "POST", "/context-pack", json={"information_request": "harbour"}
    ),
    "upload": _upload,
    "upload, waiting": lambda client, **more: _upload(client, waits=True, **more),
    "ask": lambda client: client.send(
        "ask", "POST", "/ask", json={"question": "What is said of the harbour?"}
    ),
    "page": _page,
    "mcp": _mcp,
}
