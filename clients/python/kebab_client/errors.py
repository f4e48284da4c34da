"""The one error of the client, and its construction from responses."""

from collections.abc import Mapping
from typing import Any

import httpx


class KebabError(Exception):
    """A request that failed. `message` says why, and what to do about it."""

    def __init__(
        self,
        message: str,
        *,
        code: str,
        status: int | None = None,
        fields: Mapping[str, str] | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        #: Stable, for programs; the client's own are no_answer, no_json, job_failed and job_timeout.
        self.code = code
        #: The HTTP status; None without a response.
        self.status = status
        #: The remedy by field of the request, of a refusal with 400.
        self.fields = dict(fields or {})
        #: How long the server asks to wait before the next request.
        self.retry_after_s = retry_after_s

    @classmethod
    def from_response(cls, response: httpx.Response) -> "KebabError":
        """Return the error that a response of 400 or more stands for."""
        problem = _problem(response)
        return cls(
            str(
                problem.get("detail")
                or problem.get("title")
                or f"The server answered {response.status_code}."
            ),
            code=str(problem.get("code", "http_error")),
            status=response.status_code,
            fields={each["field"]: each["message"] for each in problem.get("errors") or ()},
            retry_after_s=_seconds(response.headers.get("Retry-After")),
        )


def _problem(response: httpx.Response) -> Mapping[str, Any]:
    """Return the problem of RFC 9457; an empty one where a proxy answered."""
    try:
        document = response.json()
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def _seconds(header: str | None) -> float | None:
    return float(header) if header is not None and header.isdecimal() else None
