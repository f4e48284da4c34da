"""Scene: an embedder is changed under search load, its worker is killed half-way, and it is rolled back."""

import os
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

from kebab.identity.models import TokenScope
from kebab.identity.tokens import mint_token
from search.models import ChunkVector
from tests.drills.crash.model import HeldModel
from tests.drills.crash.search_load import SearchLoad
from tests.drills.crash.tenant import Tenant
from tests.drills.crash.watch import Watch
from tests.support.patience import patiently
from tests.support.stack import Stack, eventually

_FIRST, _SECOND = "hash", "backwards"
_SECTIONS = 100
_WORDS = 24
_LIMIT_S = 900.0
_BEGIN_LIMIT_S = 120.0
# Searches to wait for in each state.
_SEARCHES = 30
# Texts that a killed worker requested without storing them: a batch being stored, and one prefetched.
_IN_FLIGHT = 2 * 64 + 2

Checks = Iterator[tuple[str, list[str]]]


class EmbedderChange:
    """The scene in a workspace of `chunks` chunks, a multiple of 100."""

    def __init__(self, stack: Stack, watch: Watch, model: HeldModel, folder: Path, chunks: int) -> None:
        self._watch = watch
        self._stack = stack
        self._model = model
        self._chunks = chunks // _SECTIONS * _SECTIONS
        self._passages = _write_files(folder, self._chunks)
        self._tenant = Tenant(stack.url, "reembed", [folder])
        token = mint_token(
            self._tenant.workspace, scopes=(TokenScope.SEARCH, TokenScope.MANAGE), name="drill-manage"
        )
        self._url = f"{stack.url}/api/v1/workspaces/reembed/embedding"
        self._headers = {"Authorization": f"Bearer {token[1]}"}
        #: Observed (coverage, remaining time) of the space that is built.
        self._observed: list[tuple[float, float | None]] = []

    def play(self) -> Checks:
        """Play the scene, and yield the name and the violations of each check. Raises GaveUp."""
        self._ingest()
        with SearchLoad(self._tenant, self._passages) as load:
            self._await_searches(load)
            self._model.hold_at(self._chunks // 2)
            self._ask("POST", "", {"embedder": self._model.name})
            yield "killed half-way, the build keeps what it has", list(self._kill_half_way())
            switched_s = self._await_switch()
            yield "coverage only rises, and the remaining time is reported", list(self._progress_errors())
            yield "what was embedded is not embedded again", list(self._repeated_passages())
            self._await_searches(load)
            rolled_back_s = time.monotonic()
            space = self._ask("POST", "/rollback")["retired"][0]["id"]
            back_s = time.monotonic()
            yield "the switch is one step", list(load.relapses(_SECOND, rolled_back_s))
            self._await_searches(load)
            yield "going back is one step", _others(load.models_since(back_s), _FIRST)
            self._ask("DELETE", f"/spaces/{space}")
            eventually(lambda: not self._status()["retired"], "the retired space is deleted", _LIMIT_S)
            yield "its rows are gone, the others are there", list(self._vector_count_errors())
            self._await_searches(load)
        seen = load.models_since(0.0)
        yield "both models were searched", [] if seen == {_FIRST, _SECOND} else [f"searched: {sorted(seen)}"]
        yield f"none of {len(load.results)} searches failed or mixed spaces", list(load.failures())
        yield f"the switch came after {switched_s:.0f} s", []

    def _ingest(self) -> None:
        self._tenant.request_syncs()
        eventually(lambda: not patiently(self._tenant.has_open_jobs), "all is embedded", _LIMIT_S)
        eventually(lambda: patiently(self._tenant.is_searchable), "all is searchable", _LIMIT_S)
        found = patiently(self._status)
        if (found["chunks"], found["live"]["coverage"]) != (self._chunks, 1.0):
            raise RuntimeError(f"{self._chunks} chunks were to be embedded, there are: {found}")

    def _kill_half_way(self) -> Iterator[str]:
        eventually(self._is_held, "half of the passages are embedded", _LIMIT_S)
        before = self._status()["building"]["vectors"]
        pid = self._stack.pids()["embedder"]
        os.kill(pid, signal.SIGKILL)
        self._watch.note_kill("embedder", pid)
        eventually(lambda: self._stack.pids().get("embedder", pid) != pid, "another worker runs", _LIMIT_S)
        after = self._status()["building"]["vectors"]
        if not before <= after or not 0.25 < after / self._chunks < 0.75:
            yield f"{before} vectors before the kill, {after} after it, of {self._chunks}"
        self._model.release()

    def _is_held(self) -> bool:
        return self._observe_build() and self._model.is_held.is_set()

    def _await_switch(self) -> float:
        began_s = time.monotonic()
        eventually(lambda: not self._observe_build(), "the build comes to its end", _LIMIT_S)
        return time.monotonic() - began_s

    def _observe_build(self) -> bool:
        """Record the progress of the build, and return whether one is under way."""
        building = self._status()["building"]
        if building is not None:
            self._observed.append((building["coverage"], building["eta_s"]))
        return building is not None

    def _progress_errors(self) -> Iterator[str]:
        coverages = [coverage for coverage, _ in self._observed]
        if coverages != sorted(coverages):
            yield f"coverage went back: {coverages}"
        under_way = [eta_s for coverage, eta_s in self._observed if 0 < coverage < 1]
        if not under_way or None in under_way:
            yield f"the remaining time was missing {under_way.count(None)} times of {len(under_way)}"

    def _repeated_passages(self) -> Iterator[str]:
        requested = len(self._model.passages)
        distinct = len(set(self._model.passages))
        if distinct < self._chunks or requested - distinct > _IN_FLIGHT:
            yield f"{requested} passages were requested, {distinct} different ones, of {self._chunks}"

    def _vector_count_errors(self) -> Iterator[str]:
        status = self._status()
        rows = ChunkVector.objects.in_workspace(self._tenant.workspace).count()
        if (rows, status["live"]["vectors"]) != (self._chunks, self._chunks):
            yield f"{rows} vectors are left, of {self._chunks} chunks"

    def _await_searches(self, load: SearchLoad) -> None:
        enough = len(load.results) + _SEARCHES
        eventually(lambda: len(load.results) > enough, f"{_SEARCHES} searches are answered", _BEGIN_LIMIT_S)

    def _status(self) -> dict[str, Any]:
        return self._ask("GET", "")

    def _ask(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        response = httpx.request(method, self._url + path, json=body, headers=self._headers, timeout=60)
        response.raise_for_status()
        answer: dict[str, Any] = response.json()
        return answer


def _others(seen: set[str], expected: str) -> list[str]:
    return [f"searches that began after it were answered by {other}" for other in sorted(seen - {expected})]


def _write_files(folder: Path, chunks: int) -> dict[str, str]:
    """Write files of a hundred sections each, and return the sections' texts, a chunk each, by heading."""
    rng = random.Random("reembed")
    folder.mkdir(parents=True)
    passages = {}
    for first in range(0, chunks, _SECTIONS):
        texts = {
            f"Part {number}": " ".join(f"w{rng.randrange(50_000)}" for _ in range(_WORDS))
            for number in range(first, first + _SECTIONS)
        }
        sections = [f"## {heading}\n\n{text}\n" for heading, text in texts.items()]
        (folder / f"volume-{first:06}.md").write_text("\n".join([f"# Volume {first}\n", *sections]))
        passages |= texts
    return passages
