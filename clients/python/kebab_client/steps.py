"""Requests without input and output: generators of requests and pauses, which a runner carries out."""

import random
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, TypeVar

import httpx

from kebab_client.errors import KebabError

T = TypeVar("T")
_FIRST_PAUSE_S: Final = 0.5
# A server that asks for more is not waited for.
_MAX_PAUSE_S: Final = 60.0
# Refusals before any work: too many requests, and a server that can't answer now.
_TRANSIENT: Final = frozenset({429, 503})


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request below `/api/v1`. Parameters and fields of a form that are None are left out."""

    method: str
    path: str
    query: Mapping[str, Any] = field(default_factory=dict)
    json: Any = None
    form: Mapping[str, Any] = field(default_factory=dict)
    #: The name and the content of a form's file.
    file: tuple[str, bytes] | None = None
    #: Marks a request that the server carries out once, however often it arrives.
    idempotency_key: str | None = None
    #: Whether it changes nothing, or may be repeated without further effect.
    is_repeatable: bool = True

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of `httpx.Client.request`."""
        given: dict[str, Any] = {"method": self.method, "url": self.path, "params": without_none(self.query)}
        if self.idempotency_key is not None:
            given["headers"] = {"Idempotency-Key": self.idempotency_key}
        if self.file is not None:
            return {**given, "data": without_none(self.form), "files": {"file": self.file}}
        return given if self.json is None else {**given, "json": self.json}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """A wait between requests."""

    seconds: float


#: What becomes of a request; None of a pause.
Outcome: TypeAlias = httpx.Response | httpx.RequestError | None
#: A request is resumed with its response, a pause with None.
Steps: TypeAlias = Generator[Request | Pause, Any, T]
#: Returns the rows of a page and the cursor of the next one, by cursor.
Pages: TypeAlias = Callable[[str | None], Steps[tuple[list[T], str | None]]]


def with_retries(steps: Steps[T], retries: int) -> Generator[Request | Pause, Outcome, T]:
    """Run steps with retries of their requests, and return their result. Raises KebabError."""
    resumed_with: httpx.Response | None = None
    while True:
        try:
            wanted = steps.send(resumed_with)
        except StopIteration as end:
            result: T = end.value
            return result
        if isinstance(wanted, Request):
            resumed_with = yield from _send(wanted, retries)
        else:
            resumed_with = None
            yield wanted


def without_none(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is not None."""
    return {name: value for name, value in given.items() if value is not None}


def _send(request: Request, retries: int) -> Generator[Request | Pause, Outcome, httpx.Response]:
    """Send a request, again after a transient failure if it may be repeated. Raises KebabError."""
    attempt = 0
    while True:
        outcome = yield request
        if isinstance(outcome, httpx.Response) and outcome.status_code < 400:
            return outcome
        error, pause_s = _failure(outcome, attempt)
        if pause_s is None or attempt == retries or not request.is_repeatable:
            raise error from (outcome if isinstance(outcome, Exception) else None)
        attempt += 1
        yield Pause(seconds=pause_s)


def _failure(outcome: Outcome, attempt: int) -> tuple[KebabError, float | None]:
    """Return the error, and the pause before another attempt; None: another would fail, too."""
    backoff_s = _FIRST_PAUSE_S * 2**attempt * random.uniform(0.5, 1.0)  # noqa: S311 - spreads clients
    if not isinstance(outcome, httpx.Response):
        return KebabError(f"The server doesn't answer ({outcome}).", code="no_answer"), backoff_s
    error = KebabError.from_response(outcome)
    pause_s = max(error.retry_after_s or 0.0, backoff_s)
    is_transient = outcome.status_code in _TRANSIENT and pause_s <= _MAX_PAUSE_S
    return error, pause_s if is_transient else None
