"""A client of the HTTP API."""

import json
from collections.abc import Iterator
from typing import Any

import httpx

_LIMIT_S = 40.0


class Client:
    """Client of one workspace on one node, with one token."""

    def __init__(self, url: str, slug: str, token: str) -> None:
        self.slug = slug
        self.token = token
        self._http = httpx.Client(
            base_url=f"{url}/api/v1", headers={"Authorization": f"Bearer {token}"}, timeout=_LIMIT_S
        )

    def at(self, url: str) -> "Client":
        """Return the same client at another node."""
        return Client(url, self.slug, self.token)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def request(
        self, method: str, path: str, *, workspace: str | None = None, **options: Any
    ) -> httpx.Response:
        """Send a request below `/workspaces/{ws}`, by default the client's own, and return the answer."""
        return self._http.request(method, f"/workspaces/{workspace or self.slug}{path}", **options)

    def get(self, path: str, **parameters: Any) -> Any:
        """Return the body of a GET, which has to succeed."""
        return self.request("GET", path, params=parameters).raise_for_status().json()

    def search(self, query: str, **parameters: Any) -> Any:
        """Return the body of a search, which has to succeed."""
        answer = self.request("POST", "/search", json={"q": query, **parameters})
        assert answer.status_code == 200, answer.text
        return answer.json()

    def fetch_page(self, cursor: str) -> Any:
        """Return the body of a cursor's page, which has to exist."""
        return self.get("/search", cursor=cursor)

    def upload(self, path: str, text: str, **parameters: Any) -> Any:
        """Return the body of an upload, which has to be accepted."""
        answer = self.request("POST", "/documents", params=parameters, json={"path": path, "text": text})
        assert answer.status_code == (201 if "wait_for" in parameters else 202), answer.text
        return answer.json()

    def events(self, job_id: str) -> Iterator[tuple[str, Any]]:
        """Yield the events of a job with their names until the stream ends."""
        path = f"/workspaces/{self.slug}/jobs/{job_id}/events"
        with self._http.stream("GET", path) as stream:
            assert stream.headers["content-type"] == "text/event-stream"
            name = ""
            for line in stream.iter_lines():
                field, _, value = line.partition(": ")
                if field == "event":
                    name = value
                elif field == "data":
                    yield name, json.loads(value)
