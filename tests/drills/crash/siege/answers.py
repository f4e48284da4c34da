"""Every answer that a client got, and which of them may not have been."""

import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from tests.drills.crash.siege.outages import Outages

#: The status of a request that got no answer.
NO_ANSWER = 0
#: What a web process says that has more to do at once than it can: it has just been started, and loads.
_OVERLOADED = "overloaded"
_MOST_TOLD = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """How a request was answered."""

    #: What was asked for: upload, delete, search, …
    kind: str
    #: The stores without which it may be refused.
    needs: frozenset[str]
    began_s: float
    ended_s: float
    #: `NO_ANSWER` when the connection was refused, broke or stayed silent.
    status: int
    #: The problem's code, or the name of the connection's error.
    code: str = ""
    has_retry_after: bool = False
    is_expected: bool = True

    def told(self) -> str:
        """The answer in words."""
        return f"{self.kind} at {self.began_s:.1f}-{self.ended_s:.1f} s: {self.status} {self.code}".rstrip()


class Answers:
    """All answers of a scene, from all threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._all: list[Answer] = []
        self._wrong: list[str] = []

    def __len__(self) -> int:
        return len(self._all)

    def note(self, answer: Answer) -> None:
        """Note an answer."""
        with self._lock:
            self._all.append(answer)

    def object(self, violation: str) -> None:
        """Note that what an answer says is wrong."""
        with self._lock:
            self._wrong.append(violation)

    def wrong(self) -> Iterator[str]:
        """What answers said that isn't so, the first of many."""
        yield from self._wrong[:10]
        if len(self._wrong) > 10:
            yield f"and {len(self._wrong) - 10} more"

    def by_status(self) -> dict[str, dict[str, int]]:
        """How many answers there were by kind and status."""
        counted = Counter((each.kind, str(each.status or "none")) for each in self._all)
        kinds = sorted({kind for kind, _ in counted})
        return {kind: {s: n for (k, s), n in sorted(counted.items()) if k == kind} for kind in kinds}

    def slowest_refusal_s(self) -> float:
        """How long a client waited for a 503 at most that had not asked to be kept waiting."""
        refused = (each for each in self._all if each.status == 503 and not each.kind.endswith("wait"))
        return max((each.ended_s - each.began_s for each in refused), default=0.0)

    def failures(self, outages: Outages) -> Iterator[str]:
        """Answers that may not be: errors but 503 with Retry-After, or those while all it needs is there."""
        yield from _grouped([each for each in self._all if not _is_bearable(each)], "is never right")
        refused = [each for each in self._all if _is_bearable(each) and each.status in {503, NO_ANSWER}]
        excusable = [each for each in refused if not outages.excuse(_stores(each), each.ended_s)]
        yield from _grouped(excusable, "though all that it needs was there")


def _is_bearable(answer: Answer) -> bool:
    if answer.status == NO_ANSWER:
        return answer.code != "ReadTimeout"
    if answer.status == 503:
        return answer.has_retry_after
    return answer.status < 500 and answer.is_expected


def _stores(answer: Answer) -> frozenset[str]:
    """Who is refused has reached the web process, which all come to when it is back; others have not."""
    web = frozenset({"web"})
    if answer.status == NO_ANSWER:
        return web
    return answer.needs | web if answer.code == _OVERLOADED else answer.needs


def _grouped(answers: list[Answer], why: str) -> Iterator[str]:
    kinds = Counter((each.kind, each.status, each.code) for each in answers)
    for (kind, status, code), times in kinds.most_common():
        examples = [each for each in answers if (each.kind, each.status, each.code) == (kind, status, code)]
        told = "; ".join(each.told() for each in examples[:_MOST_TOLD])
        yield f"{times} x {kind} answered {status or 'not at all'} {code}: {why} ({told})"
