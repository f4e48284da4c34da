"""Judgement of answers to hostile requests."""

import re
import sys
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import httpx
from jsonschema import ValidationError

from tests.acceptance import schemas
from tests.drills.hostile.attempt import API, MAX_TARGET, Attempt
from tests.drills.hostile.endpoints import ENDPOINTS
from tests.support.paths import ROOT

# Validating the hits of one page takes milliseconds, of a thousand hits seconds.
_VALIDATED_BYTES = 100_000
# A rejection names the defect, and doesn't repeat the whole input.
_REFUSAL_BYTES = 20_000
# The HTTP server's answer to an unreadable request, which never reaches the application.
_UNREAD = "Invalid HTTP request received."
_REFUSAL = "application/problem+json"
_METHODS = {"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"}
_SCHEMAS = {endpoint.name: endpoint.schema for endpoint in ENDPOINTS}
_INNARDS = re.compile(r"Traceback \(most recent|File \"[^\"]+\", line \d|object at 0x|site-packages|<class '")


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """Judges answers; no rejection may name one of the `private` paths."""

    private: Collection[str] = ()

    def fault(self, attempt: Attempt, answer: httpx.Response) -> str:
        """Return the defect of `answer`; '' when it is right."""
        if answer.status_code >= 500:
            return f"{answer.status_code}: {answer.text[:300]}"
        if not attempt.target.startswith(f"{API}/") or attempt.method == "HEAD":
            return ""
        if answer.status_code >= 400 and answer.text != _UNREAD:
            return self._fault_of_refusal(answer)
        if answer.status_code >= 400:
            is_readable = attempt.method in _METHODS and len(attempt.target) <= MAX_TARGET
            return "could have been read" if is_readable else ""
        return _fault_of_success(attempt, answer)

    def _fault_of_refusal(self, answer: httpx.Response) -> str:
        if answer.headers.get("content-type") != _REFUSAL:
            return f"{answer.status_code} as {answer.headers.get('content-type')}: {answer.text[:100]}"
        if len(answer.content) > _REFUSAL_BYTES:
            return f"a refusal of {len(answer.content)} bytes"
        private = next((path for path in self._private_paths() if path in answer.text), None)
        innards = _INNARDS.search(answer.text)
        if private is not None or innards is not None:
            return f"tells of {private or innards}: {answer.text[:300]}"
        return _fault_of_document(answer.json(), "problem.v1")

    def _private_paths(self) -> tuple[str, ...]:
        return (*self.private, str(ROOT), sys.prefix)


def _fault_of_success(attempt: Attempt, answer: httpx.Response) -> str:
    content_type = answer.headers.get("content-type", "")
    if content_type != "application/json":
        return (
            ""
            if "type=txt" in attempt.target or attempt.endpoint.endswith("/content")
            else f"as {content_type}"
        )
    if len(answer.content) > _VALIDATED_BYTES:
        return ""
    document, schema = answer.json(), _SCHEMAS[attempt.endpoint]
    return (schema and _fault_of_document(document, schema)) or _fault_within(document)


def _fault_of_document(document: Any, schema: str) -> str:
    try:
        schemas.check(document, schema)
    except ValidationError as error:
        return f"not as {schema} says: {error.message[:300]}"
    return ""


def _fault_within(document: Any) -> str:
    """Return the defect of a bulk's single answers; a timeout is none."""
    failed = [
        each
        for each in document.get("results", ())
        if each.get("code") != "timeout" and isinstance(each.get("status"), int) and each["status"] >= 500
    ]
    return f"within: {failed[0]}" if failed else ""
