"""Record of every answer that a client got, and of inadmissible ones."""

import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from tests.drills.crash.siege.outages import Outages

#: Status of a request without an answer.
NO_ANSWER = 0
#: Code of a web process with more requests than it can serve, as just after its start.
_OVERLOADED = "overloaded"
_MOST_LISTED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer to a request."""

    #: The request: upload, delete, search, …
    kind: str
    #: The stores whose absence excuses a rejection.
    needs: frozenset[str]
    began_s: float
    ended_s: float
    #: `NO_ANSWER` when the connection was refused, broke or stayed silent.
    status: int
    #: The problem's code, or the name of the connection's error.
    code: str = ""
    has_retry_after: bool = False
    is_expected: bool = True

    def describe(self) -> str:
        """Return a description of the answer."""
        return f"{self.kind} at {self.began_s:.1f}-{self.ended_s:.1f} s: {self.status} {self.code}".rstrip()


class Answers:
    """All answers of a scene, from all threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._all: list[Answer] = []
        self._wrong: list[str] = []

    def __len__(self) -> int:
        return len(self._all)

    def record(self, answer: Answer) -> None:
        """Record an answer."""
        with self._lock:
            self._all.append(answer)

    def record_wrong(self, violation: str) -> None:
        """Record a wrong statement in an answer."""
        with self._lock:
            self._wrong.append(violation)

    def wrong_statements(self) -> Iterator[str]:
        """Yield the first ten wrong statements, and the number of the others."""
        yield from self._wrong[:10]
        if len(self._wrong) > 10:
            yield f"and {len(self._wrong) - 10} more"

    def by_status(self) -> dict[str, dict[str, int]]:
        """Return the number of answers by kind and status."""
        counted = Counter((each.kind, str(each.status or "none")) for each in self._all)
        kinds = sorted({kind for kind, _ in counted})
        return {kind: {s: n for (k, s), n in sorted(counted.items()) if k == kind} for kind in kinds}

    def slowest_refusal_s(self) -> float:
        """Return the longest wait for a 503, among requests that didn't ask to wait."""
        refused = (each for each in self._all if each.status == 503 and not each.kind.endswith("wait"))
        return max((each.ended_s - each.began_s for each in refused), default=0.0)

    def failures(self, outages: Outages) -> Iterator[str]:
        """Yield inadmissible answers: errors other than 503 with Retry-After, and those without an outage."""
        yield from _group_by_kind([each for each in self._all if not _is_admissible(each)], "is never right")
        refused = [each for each in self._all if _is_admissible(each) and each.status in {503, NO_ANSWER}]
        excusable = [each for each in refused if not outages.excuse(_stores(each), each.ended_s)]
        yield from _group_by_kind(excusable, "though all that it needs was there")


def _is_admissible(answer: Answer) -> bool:
    if answer.status == NO_ANSWER:
        return answer.code != "ReadTimeout"
    if answer.status == 503:
        return answer.has_retry_after
    return answer.status < 500 and answer.is_expected


def _stores(answer: Answer) -> frozenset[str]:
    """Return the stores that excuse this rejection: no answer or overload is excused by the web process."""
    web = frozenset({"web"})
    if answer.status == NO_ANSWER:
        return web
    return answer.needs | web if answer.code == _OVERLOADED else answer.needs


def _group_by_kind(answers: list[Answer], why: str) -> Iterator[str]:
    kinds = Counter((each.kind, each.status, each.code) for each in answers)
    for (kind, status, code), times in kinds.most_common():
        examples = [each for each in answers if (each.kind, each.status, each.code) == (kind, status, code)]
        describe = "; ".join(each.describe() for each in examples[:_MOST_LISTED])
        yield f"{times} x {kind} answered {status or 'not at all'} {code}: {why} ({describe})"
