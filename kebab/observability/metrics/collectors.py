"""What is asked of Postgres and Redis when somebody reads metrics: in threads, now and then.

An answer is given for as long as it is fresh. One that takes long is asked for the more rarely, so that no
more than a twentieth of the time goes into it; a store that hangs holds one thread, and no reader.
"""

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from kebab.observability.metrics.exposition import Page
from kebab.observability.metrics.metric import Family, declare

logger = logging.getLogger(__name__)

#: The label of series that are shown to operators alone.
WORKSPACE = "workspace"
# An answer that is older than this many of its periods is no answer any more.
_FRESH_PERIODS = 4
_SHARE_OF_TIME = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One number of a family."""

    family: Family
    values: tuple[str, ...] = ()
    amount: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Something that is asked of a store, every so many seconds at most."""

    store: str
    ask: Callable[[], Iterable[Sample]]
    every_s: float = 5.0


_questions: dict[str, Question] = {}


def gauge(name: str, help: str, *labels: str) -> Family:
    """Declare what a question answers."""
    return declare(Family(name=name, help=help, kind="gauge", labels=labels))


def register_question(name: str, question: Question) -> None:
    """Have it asked when metrics are read."""
    _questions[name] = question


@dataclass(slots=True)
class _Known:
    """What a question was answered last."""

    samples: Sequence[Sample] = ()
    at: float = float("-inf")
    period_s: float = 0.0


@dataclass(slots=True)
class _Asked:
    """A store and the thread that asks it."""

    thread: ThreadPoolExecutor
    under_way: "Future[None] | None" = None
    known: dict[str, _Known] = field(default_factory=dict)


class Asker:
    """Asks all questions, a thread for each store; each round of them runs inside of `around`."""

    def __init__(self, around: Callable[[], AbstractContextManager[None]]) -> None:
        self._around = around
        self._stores: dict[str, _Asked] = {}

    def write(self, page: Page, *, is_up: Callable[[str], bool], limit_s: float, is_operator: bool) -> None:
        """Put the answers on the page that are there within the limit; none of a store that is away."""
        stores = {question.store for question in _questions.values()}
        rounds = {store: self._begin(store) for store in stores if is_up(store)}
        wait(rounds.values(), limit_s)
        now = time.monotonic()
        for store in rounds:
            for known in list(self._stores[store].known.values()):
                if now - known.at < _FRESH_PERIODS * known.period_s:
                    _put(page, known.samples, is_operator=is_operator)

    def _begin(self, store: str) -> "Future[None]":
        asked = self._stores.setdefault(
            store, _Asked(ThreadPoolExecutor(1, thread_name_prefix=f"ask-{store}"))
        )
        if asked.under_way is None or asked.under_way.done():
            asked.under_way = asked.thread.submit(self._ask_due, store, asked)
        return asked.under_way

    def _ask_due(self, store: str, asked: _Asked) -> None:
        with self._around():
            for name, question in list(_questions.items()):
                if question.store == store:
                    _ask_if_due(name, question, asked.known.setdefault(name, _Known()))


def _ask_if_due(name: str, question: Question, known: _Known) -> None:
    began = time.monotonic()
    if began - known.at < known.period_s:
        return
    try:
        samples = tuple(question.ask())
    except Exception as error:  # noqa: BLE001  # whatever is ill, metrics are to tell the rest
        logger.debug("%s is not answered: %s", name, error)
        return
    now = time.monotonic()
    known.samples, known.at = samples, now
    known.period_s = max(question.every_s, _SHARE_OF_TIME * (now - began))


def _put(page: Page, samples: Iterable[Sample], *, is_operator: bool) -> None:
    for sample in samples:
        if is_operator or WORKSPACE not in sample.family.labels:
            page.add_sample(sample.family, sample.values, sample.amount)
