"""Scene: a mirror is rebuilt repeatedly while it is searched, and each search finds its document."""

import threading
from collections.abc import Iterator
from itertools import cycle

import httpx

from tests.drills.crash.corpus import Corpus
from tests.drills.crash.tenant import Tenant
from tests.support.patience import patiently
from tests.support.stack import GaveUp, Stack, eventually

_REBUILDS = 3
_THREADS = 2
_LIMIT_S = 120.0
_MOST_LISTED = 3


def search_while_rebuilding(stack: Stack, corpus: Corpus) -> Iterator[str]:
    """Play the scene, and yield the violations. Raises GaveUp."""
    tenant = Tenant(stack.url, "rebuilding", corpus.folders)
    tenant.request_syncs()
    eventually(lambda: not patiently(tenant.has_open_jobs), "all is ingested", _LIMIT_S)
    eventually(lambda: patiently(tenant.is_searchable), "all is searchable")
    searches = _Searches(tenant, corpus.steady)
    with searches:
        for _ in range(_REBUILDS):
            before = searches.done
            done = stack.run("mirror", "rebuild", "--workspace", tenant.workspace.slug)
            if done.returncode != 0:
                raise GaveUp(f"The mirror could not be rebuilt: {done.stderr}")
            eventually(lambda before=before: searches.done > before, "searches go on")
    found = list(dict.fromkeys(searches.violations))
    yield from found[:_MOST_LISTED]
    if len(searches.violations) > _MOST_LISTED:
        yield f"{len(searches.violations)} of {searches.done} searches were wrong"


class _Searches:
    """Threads that search for one word after another; `words` has them by path of their document."""

    def __init__(self, tenant: Tenant, words: dict[str, str]) -> None:
        self._tenant = tenant
        self._words = words
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(_THREADS)]
        self.done = 0
        self.violations: list[str] = []

    def __enter__(self) -> None:
        for thread in self._threads:
            thread.start()

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _run(self) -> None:
        for path, word in cycle(self._words.items()):
            if self._stop.is_set():
                return
            try:
                self._check(path.split("/", 1)[1], self._tenant.search(word, mode="lexical"))
            except httpx.HTTPError as error:
                self.violations.append(f"a search was not answered ({type(error).__name__})")
            self.done += 1

    def _check(self, path: str, answer: httpx.Response) -> None:
        if answer.status_code != 200:
            self.violations.append(f"a search was answered with {answer.status_code}")
        elif all(hit["doc_path"] != path for hit in answer.json()["hits"]):
            self.violations.append(f"{path} was not found while the mirror was rebuilt")
