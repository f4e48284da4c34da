"""Clients that write and read through two nodes, and record their operations."""

import re
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.drills.consistency.history import History, Read, Register, Search, Word, Write

_LIMIT_S = 60.0
_POLL_S = 0.05
_NOT_THERE = 404
_RETRY_LATER = (429, 503)
_WORD = re.compile(r"\bword\w+")


def text_of(register: Register, word: Word) -> str:
    """Return the document of a word: its title, the register's name, and the word again."""
    return f"# {word}\n\nThe register {name_of(register)} holds {word}.\n"


def name_of(register: Register) -> str:
    """Return the word that all documents of a register have in common."""
    return "register" + re.sub(r"\W", "", register)


@dataclass(slots=True, kw_only=True)
class Shared:
    """State shared by all clients, guarded by `lock`."""

    history: History = field(default_factory=History)
    document_ids: dict[Register, str] = field(default_factory=dict)
    #: Recently written words with their number, newest last.
    known: dict[Register, list[tuple[Word, int]]] = field(default_factory=dict)
    #: The highest number that any client knows.
    newest_seq: int = 0
    words: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def new_word(self) -> Word:
        """Return a word that nobody has written."""
        with self.lock:
            self.words += 1
            return f"word{self.words}x"

    def record(self, operation: Write | Read | Search) -> None:
        """Record an operation."""
        with self.lock:
            match operation:
                case Write():
                    self.history.writes.append(operation)
                    self._learn(operation)
                case Read():
                    self.history.reads.append(operation)
                case Search():
                    self.history.searches.append(operation)

    def _learn(self, write: Write) -> None:
        if write.seq is not None:
            self.newest_seq = max(self.newest_seq, write.seq)
            if write.word is not None:
                self.known.setdefault(write.register, []).append((write.word, write.seq))

    def record_refusal(self, what: str, answer: httpx.Response) -> None:
        """Record a rejection or an error."""
        with self.lock:
            code = str(_json(answer).get("code", answer.status_code))
            if answer.status_code in _RETRY_LATER and answer.headers.get("Retry-After", "").isdigit():
                self.history.refusals[code] = self.history.refusals.get(code, 0) + 1
            else:
                self.history.errors.append(f"{what}: {answer.status_code} {answer.text[:200]}")


class Client:
    """One client of one node. Not shared between threads."""

    def __init__(self, shared: Shared, node: str, url: str, slug: str, token: str) -> None:
        self._shared = shared
        self._node = node
        headers = {"Authorization": f"Bearer {token}"}
        self._http = httpx.Client(
            base_url=f"{url}/api/v1/workspaces/{slug}", headers=headers, timeout=_LIMIT_S
        )

    def close(self) -> None:
        """Close the connection."""
        self._http.close()

    def write(self, register: Register, *, waits: bool) -> None:
        """Write another word to a register, and wait until it is searchable here or only ingested."""
        word, began_s = self._shared.new_word(), time.monotonic()
        answer = self._http.post(
            "/documents",
            params={"wait_for": "searchable"} if waits else {},
            json={"path": register, "text": text_of(register, word)},
        )
        if answer.status_code not in (201, 202):
            self._record_unsure(register, word, began_s, answer)
            return
        body = answer.json()
        with self._shared.lock:
            self._shared.document_ids[register] = body["document"]["id"]
        if answer.status_code == 202:
            body = {"seq": self._await_job(body["job"]["id"])}
        self._shared.record(
            Write(
                register=register,
                word=word,
                node=self._node,
                began_s=began_s,
                ended_s=time.monotonic(),
                is_certain=body["seq"] is not None,
                seq=body["seq"],
                is_searchable=answer.status_code == 201,
            )
        )

    def delete(self, register: Register) -> None:
        """Delete the document of a register."""
        began_s = time.monotonic()
        answer = self._http.delete(f"/documents/{self._shared.document_ids[register]}")
        if answer.status_code == _NOT_THERE:
            self._record_read(register, None, began_s, "deletion")
        elif answer.status_code != 204:
            self._record_unsure(register, None, began_s, answer)
        else:
            seq = int(answer.headers["Kebab-Seq"])
            self._record_write(register, None, began_s, seq=seq)

    def read(self, register: Register) -> None:
        """Read a register's document."""
        began_s = time.monotonic()
        answer = self._http.get(f"/documents/{self._shared.document_ids[register]}/content")
        if answer.status_code == _NOT_THERE:
            self._record_read(register, None, began_s, "document")
        elif answer.status_code == 200:
            self._record_read(register, _word_in(answer.text), began_s, "document")
        else:
            self._shared.record_refusal("content", answer)

    def list(self, register: Register) -> None:
        """Look up a register's document in the list of documents."""
        began_s = time.monotonic()
        answer = self._http.get("/documents", params={"path_prefix": register})
        if answer.status_code != 200:
            self._shared.record_refusal("list", answer)
            return
        found = answer.json()["results"]
        self._record_read(register, found[0]["title"] if found else None, began_s, "list")

    def search(self, register: Register, word: Word | None, *, mode: str, min_seq: int | None) -> None:
        """Search for a word, or for the name of a register."""
        began_s = time.monotonic()
        parameters: dict[str, Any] = {"q": word or name_of(register), "mode": mode, "k": 5}
        if min_seq is not None:
            parameters["min_seq"] = min_seq
        answer = self._http.post("/search", json=parameters)
        if answer.status_code != 200:
            self._shared.record_refusal("search", answer)
            return
        body = answer.json()
        seen = tuple((hit["doc_path"], hit["title"]) for hit in body["hits"])
        self._shared.record(
            Search(
                node=self._node,
                began_s=began_s,
                ended_s=time.monotonic(),
                register=register,
                word=word,
                seen=seen,
                seq=body["seq"],
                lag=body["lag"],
                min_seq=min_seq,
                is_lexical=mode == "lexical",
                is_whole="lexical" not in body["degraded"],
            )
        )

    def _await_job(self, job_id: str) -> int | None:
        """Wait for a job, and return its change number, None when it wrote nothing."""
        while True:
            job = self._http.get(f"/jobs/{job_id}").raise_for_status().json()
            if job["finished_at"] is not None:
                is_written = job["state"] == "succeeded" and not job["report"]["failed"]
                return job["seq"] if is_written else None
            time.sleep(_POLL_S)

    def _record_unsure(
        self, register: Register, word: Word | None, began_s: float, answer: httpx.Response
    ) -> None:
        self._record_write(register, word, began_s, is_certain=False)
        # A deletion that comes in between ends an upload that waits.
        if _json(answer).get("code") != "not_ingested":
            self._shared.record_refusal("write", answer)

    def _record_write(self, register: Register, word: Word | None, began_s: float, **more: Any) -> None:
        times = {"began_s": began_s, "ended_s": time.monotonic()}
        self._shared.record(Write(register=register, word=word, node=self._node, **times, **more))

    def _record_read(self, register: Register, word: Word | None, began_s: float, by: str) -> None:
        times = {"began_s": began_s, "ended_s": time.monotonic()}
        self._shared.record(Read(register=register, word=word, node=self._node, by=by, **times))


def _word_in(text: str) -> Word:
    found: Sequence[str] = _WORD.findall(text)
    return found[0]


def _json(answer: httpx.Response) -> dict[str, Any]:
    return answer.json() if "json" in answer.headers.get("Content-Type", "") else {}
