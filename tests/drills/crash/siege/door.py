"""HTTP client of a siege that records each request with its time and answer."""

from collections.abc import Collection
from typing import Any

import httpx

from tests.drills.crash.siege.answers import NO_ANSWER, Answer, Answers
from tests.drills.crash.siege.clock import now_s

#: Stores required by a search, a list or a deletion; an upload also needs the disk.
POSTGRES = frozenset({"postgres"})
UPLOAD = frozenset({"postgres", "disk"})
# A request that waits for a change is answered within 30 s, all others far sooner.
_LIMIT_S = 45.0
_CONNECT_LIMIT_S = 5.0
# Expected rejections: the first request under an idempotency key may still run, and a workspace may exceed
# its share of the admission queue, as when one of two web processes has just been killed.
_COME_AGAIN = frozenset({"idempotency_in_progress", "workspace_busy"})


class Door:
    """One client's connections to one workspace."""

    def __init__(self, url: str, slug: str, token: str, answers: Answers) -> None:
        self._answers = answers
        self._http = httpx.Client(
            base_url=f"{url}/api/v1/workspaces/{slug}",
            headers={"Authorization": f"Bearer {token}"},
            timeout=httpx.Timeout(_LIMIT_S, connect=_CONNECT_LIMIT_S),
        )

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def ask(
        self,
        kind: str,
        method: str,
        path: str,
        *,
        needs: frozenset[str] = POSTGRES,
        expected: Collection[int] = (),
        **options: Any,
    ) -> httpx.Response | None:
        """Return the answer, also one with an expected status; None when it was rejected or missing."""
        began_s = now_s()
        try:
            response = self._http.request(method, path, **options)
        except httpx.HTTPError as error:
            self._record(kind, needs, began_s, NO_ANSWER, type(error).__name__)
            return None
        is_good = response.is_success or response.status_code in expected
        code = "" if is_good else _code(response)
        has_retry_after = "Retry-After" in response.headers
        self._record(
            kind,
            needs,
            began_s,
            response.status_code,
            code,
            has_retry_after=has_retry_after,
            is_expected=is_good or (has_retry_after and code in _COME_AGAIN),
        )
        return response if is_good else None

    def _record(
        self, kind: str, needs: frozenset[str], began_s: float, status: int, code: str, **more: bool
    ) -> None:
        self._answers.record(
            Answer(
                kind=kind,
                needs=needs,
                began_s=began_s,
                ended_s=now_s(),
                status=status,
                code=code,
                **more,
            )
        )


def _code(response: httpx.Response) -> str:
    try:
        return str(response.json().get("code", ""))
    except ValueError:
        return response.text[:80]
