"""Continuous searches from a process apart from the stack; each has to find its passage."""

import random
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from tests.drills.crash.tenant import Tenant

_THREADS = 3
# Measured on 1,500 passages: at least 0.919 for a text and its own passage with breadcrumb, at most 0.693
# for vectors of two models.
_LEAST_VECTOR_SCORE = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """One search."""

    began_s: float
    ended_s: float
    model: str
    #: The defect of the answer, '' when it is right.
    defect: str


class SearchLoad:
    """Threads that search for one passage after another; `passages` has them by heading."""

    def __init__(self, tenant: Tenant, passages: Mapping[str, str]) -> None:
        self._tenant = tenant
        self._passages = list(passages.items())
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(n,), daemon=True) for n in range(_THREADS)]
        self.results: list[SearchResult] = []

    def __enter__(self) -> "SearchLoad":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def models_since(self, at_s: float) -> set[str]:
        """Return the models whose vectors answered searches that began after `at_s`."""
        return {each.model for each in self.results if each.began_s > at_s}

    def failures(self) -> Iterator[str]:
        """Yield each distinct defect once."""
        yield from dict.fromkeys(each.defect for each in self.results if each.defect)

    def relapses(self, model: str, until_s: float) -> Iterator[str]:
        """Yield searches after one answered by `model` that were not, and ended before `until_s`."""
        ends = [each.ended_s for each in self.results if each.model == model]
        since_s = min(ends, default=until_s)
        between = (each for each in self.results if since_s < each.began_s and each.ended_s < until_s)
        late = [each for each in between if each.model != model]
        if late:
            yield f"{len(late)} searches were answered by {late[0].model} after {model} had answered"

    def _run(self, number: int) -> None:
        rng = random.Random(f"search {number}")
        while not self._stop.is_set():
            heading, text = rng.choice(self._passages)
            self.results.append(self._ask(heading, text, rng.choice(("vector", "hybrid"))))

    def _ask(self, heading: str, text: str, mode: str) -> SearchResult:
        began_s, version = time.monotonic(), ""
        try:
            response = self._tenant.search(text, mode=mode, k=10)
            defect = f"answered {response.status_code}"
            if response.status_code == 200:
                version, defect = response.json()["index_version"], _defect(response.json(), heading)
        except httpx.HTTPError as error:
            defect = f"no answer ({type(error).__name__})"
        ended_s = time.monotonic()
        message = defect and f"{mode}: {defect}"
        return SearchResult(began_s=began_s, ended_s=ended_s, model=_model(version), defect=message)


def _model(index_version: str) -> str:
    """Return the model of `vec-MODEL-REVISION-…`, alone or behind a `+`."""
    return index_version.rpartition("vec-")[2].partition("-")[0]


def _defect(body: Mapping[str, Any], heading: str) -> str:
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
