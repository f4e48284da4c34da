"""Clients that search and read, and check the answers."""

from collections.abc import Mapping
from typing import Any

from tests.drills.crash.siege import texts
from tests.drills.crash.siege.clients import Client
from tests.drills.crash.siege.clock import now_s
from tests.drills.crash.siege.ledger import Ledger
from tests.drills.crash.siege.writers import Uploader

_MODES = ("lexical", "hybrid", "hybrid", "vector")
_MIN_SEQ_SHARE = 0.4
_SNIPPET_CHARS = 600


class Searcher(Client):
    """Searches for the word of one document after another."""

    pause_s = (0.0, 0.15)

    def act(self) -> None:
        """Search once, and check the answer."""
        chance, mode, is_waiting = self._rng.random(), self._rng.choice(_MODES), self._rng.random()
        paths = self._ledger.paths()
        if not paths:
            return
        path = paths[int(chance * len(paths))]
        # The words of two documents may differ in one letter.
        request = {
            "q": self._ledger.key_words[path],
            "typos": False,
            "mode": mode,
            "k": 10,
            "snippet_chars": _SNIPPET_CHARS,
        }
        if is_waiting < _MIN_SEQ_SHARE:
            request["min_seq"] = max(deed.seq for deed in self._ledger.possible(path, now_s(), now_s()))
        began_s = now_s()
        kind = "search and wait" if "min_seq" in request else "search"
        answer = self._door.ask(kind, "POST", "/search", json=request)
        if answer is not None:
            for wrong in wrong_hits(self._ledger, path, answer.json(), request, began_s):
                self._answers.record_wrong(wrong)


def wrong_hits(
    ledger: Ledger, path: str, body: Mapping[str, Any], request: Mapping[str, Any], began_s: float
) -> list[str]:
    """Return the wrong statements in an answer to a search that began at `began_s`."""
    ended_s = now_s()
    moment = f"{request['mode']} search at {began_s:.1f}-{ended_s:.1f} s, seq {body['seq']}"
    wrong = [
        f"{moment}: {message}"
        for hit in body["hits"]
        for message in _wrong_hit(ledger, hit, began_s, ended_s)
    ]
    ids = [hit["chunk_id"] for hit in body["hits"]]
    if len(ids) != len(set(ids)):
        wrong.append(f"{moment}: a chunk comes twice")
    if body["seq"] < request.get("min_seq", 0):
        wrong.append(f"{moment}: min_seq was {request['min_seq']}")
    if _is_missing(ledger, path, body, began_s, ended_s):
        wrong.append(f"{moment}: {path} is not found")
    return wrong


def _wrong_hit(ledger: Ledger, hit: Mapping[str, Any], began_s: float, ended_s: float) -> list[str]:
    path = hit["doc_path"]
    possible = {deed.word for deed in ledger.possible(path, began_s, ended_s) if deed.word}
    if not possible:
        return [f"{path} is deleted and found"]
    shown = texts.revision_words(hit["snippet"])
    return [f"{path} shows {word}, it had {sorted(possible)}" for word in sorted(shown - possible)]


def _is_missing(ledger: Ledger, path: str, body: Mapping[str, Any], began_s: float, ended_s: float) -> bool:
    """Return whether a document that existed all the time, by the change number of the answer, is not among
    its hits.
    """
    deed = ledger.certain(path, began_s, ended_s)
    if deed is None or not deed.word or body["seq"] < deed.seq:
        return False
    if body["mode"] == "vector" or "lexical" in body["degraded"]:
        return False
    return all(hit["doc_path"] != path for hit in body["hits"])


class Reader(Client):
    """Reads one uploaded document after another."""

    def __init__(self, *arguments: Any, uploader: Uploader, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._ids = uploader.ids

    def act(self) -> None:
        """Read a document, and check that it has or had that text."""
        documents = sorted(self._ids.items())
        chance = self._rng.random()
        if not documents:
            return
        path, doc_id = documents[int(chance * len(documents))]
        began_s = now_s()
        answer = self._door.ask("read", "GET", f"/documents/{doc_id}/content", expected={404})
        if answer is None:
            return
        possible = [deed.text for deed in self._ledger.possible(path, began_s, now_s())]
        shown = None if answer.status_code == 404 else answer.text
        if shown not in possible:
            state = "is not there" if shown is None else f"reads {sorted(texts.revision_words(shown))}"
            self._answers.record_wrong(f"at {began_s:.1f} s {path} {state}; possible texts: {len(possible)}")
