"""Searches all the time, from another process than those that serve: each has to find what it asks for."""

import random
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from tests.drills.crash.tenant import Tenant

_THREADS = 3
# Of 1,500 passages: at least 0.919 for a text and its own passage, which has the breadcrumb too; at most
# 0.693 for vectors of two models.
_LEAST_VECTOR_SCORE = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """One search."""

    began_s: float
    ended_s: float
    model: str
    #: What is wrong with the answer, '' when nothing is.
    wrong: str


class SearchLoad:
    """Threads that ask for one passage after the other, `passages` by their heading."""

    def __init__(self, tenant: Tenant, passages: Mapping[str, str]) -> None:
        self._tenant = tenant
        self._passages = list(passages.items())
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(n,), daemon=True) for n in range(_THREADS)]
        self.answered: list[Answered] = []

    def __enter__(self) -> "SearchLoad":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def models_since(self, at_s: float) -> set[str]:
        """The models whose vectors answered searches that began after `at_s`."""
        return {each.model for each in self.answered if each.began_s > at_s}

    def failures(self) -> Iterator[str]:
        """What is wrong with any answer, each kind once."""
        yield from dict.fromkeys(each.wrong for each in self.answered if each.wrong)

    def relapses(self, model: str, until_s: float) -> Iterator[str]:
        """Searches that began after one was answered by `model`, were not, and ended before `until_s`."""
        ends = [each.ended_s for each in self.answered if each.model == model]
        since_s = min(ends, default=until_s)
        between = (each for each in self.answered if since_s < each.began_s and each.ended_s < until_s)
        late = [each for each in between if each.model != model]
        if late:
            yield f"{len(late)} searches were answered by {late[0].model} after {model} had answered"

    def _run(self, number: int) -> None:
        rng = random.Random(f"search {number}")
        while not self._stop.is_set():
            heading, text = rng.choice(self._passages)
            self.answered.append(self._ask(heading, text, rng.choice(("vector", "hybrid"))))

    def _ask(self, heading: str, text: str, mode: str) -> Answered:
        began_s, version = time.monotonic(), ""
        try:
            response = self._tenant.search(text, mode=mode, k=10)
            wrong = f"answered {response.status_code}"
            if response.status_code == 200:
                version, wrong = response.json()["index_version"], _wrong(response.json(), heading)
        except httpx.HTTPError as error:
            wrong = f"no answer ({type(error).__name__})"
        ended_s = time.monotonic()
        said = wrong and f"{mode}: {wrong}"
        return Answered(began_s=began_s, ended_s=ended_s, model=_model(version), wrong=said)


def _model(index_version: str) -> str:
    """Return the model of `vec-MODEL-REVISION-…`, alone or behind a `+`."""
    return index_version.rpartition("vec-")[2].partition("-")[0]


def _wrong(body: Mapping[str, Any], heading: str) -> str:
    if body["degraded"] or body["warnings"]:
        return f"degraded {body['degraded']}, {body['warnings']}"
    models = {hit["embedding_model"] for hit in body["hits"]} - {None}
    if models != {_model(body["index_version"])}:
        return f"hits of {sorted(models)} in an answer of {body['index_version']}"
    found = next((hit for hit in body["hits"] if hit["heading_path"][-1:] == [heading]), None)
    score = found and found["retrieval"]["vector_score"]
    if score is None or score < _LEAST_VECTOR_SCORE:
        return f"the passage asked for came with a vector score of {score}: were two models compared?"
    return ""
