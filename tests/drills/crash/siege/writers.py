"""Clients that write: documents uploaded, replaced and deleted, and folders edited and synced."""

import itertools
import os
import uuid
from pathlib import Path
from typing import Any

import httpx

from tests.drills.crash.siege import texts
from tests.drills.crash.siege.clients import Client
from tests.drills.crash.siege.clock import now_s
from tests.drills.crash.siege.door import UPLOAD
from tests.drills.crash.siege.ledger import Deed

_DOCUMENTS = 12
_MOST_FILES = 3
_DELETE_SHARE = 0.25
_WAIT_SHARE = 0.5
# After an outage a first try holds its key for a minute, which delays its client.
_KEY_SHARE = 0.25


class _Writer(Client):
    """Writes documents that no other client writes: `first` and those after it."""

    def __init__(self, *arguments: Any, first: int, documents: int = _DOCUMENTS, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._numbers = range(first, first + documents)
        self._revisions = dict.fromkeys(self._numbers, 0)
        self._present: set[int] = set()

    def _path(self, number: int) -> str:
        return f"{self.name}/note-{number:04}.md"

    def _begin(self, number: int, *, is_deletion: bool) -> Deed:
        text, word = None, ""
        if not is_deletion:
            self._revisions[number] += 1
            word = texts.revision_word(number, self._revisions[number])
            text = texts.make_text(self._rng, number, self._revisions[number])
        (self._present.discard if is_deletion else self._present.add)(number)
        return self._ledger.begin(self._path(number), texts.key_word(number), text=text, word=word)

    def _chooses_deletion(self, number: int) -> bool:
        return number in self._present and self._rng.random() < _DELETE_SHARE


class Uploader(_Writer):
    """Uploads, replaces and deletes one document after another."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        #: Ids of all uploaded documents, by path.
        self.ids: dict[str, str] = {}

    def act(self) -> None:
        """Write or delete one document, and wait for the acknowledgement."""
        number = self._rng.choice(self._numbers)
        is_deletion = self._chooses_deletion(number)
        is_waiting, has_key = self._rng.random() < _WAIT_SHARE, self._rng.random() < _KEY_SHARE
        deed = self._begin(number, is_deletion=is_deletion)
        if is_deletion:
            self._delete(deed, self._path(number))
        else:
            self._upload(deed, self._path(number), is_waiting=is_waiting, key=str(uuid.uuid4()) * has_key)

    def _delete(self, deed: Deed, path: str) -> None:
        tries = itertools.count()
        address = f"/documents/{self.ids[path]}"

        def attempt() -> httpx.Response | None:
            # A try without an answer may have deleted it, so only the first must not get 404.
            expected = {404} if next(tries) else set()
            return self._door.ask("delete", "DELETE", address, expected=expected)

        answer = self.persist(attempt)
        if answer is not None:
            self._ledger.settle(deed, int(answer.headers.get("Kebab-Seq", 0)))

    def _upload(self, deed: Deed, path: str, *, is_waiting: bool, key: str) -> float:
        """Upload until acknowledged and ingested; return the start of the acknowledged try."""
        began_s = 0.0

        def attempt() -> dict[str, Any] | None:
            nonlocal began_s
            began_s = now_s()
            answer = self._door.ask(
                "upload and wait" if is_waiting else "upload",
                "POST",
                "/documents",
                needs=UPLOAD,
                params={"wait_for": "searchable"} if is_waiting else {},
                headers={"Idempotency-Key": key} if key else {},
                json={"path": path, "text": deed.text},
            )
            return None if answer is None else answer.json()

        body = self.persist(attempt)
        if body is not None:
            self.ids[path] = body["document"]["id"]
            self._settle(deed, body)
        return began_s

    def _settle(self, deed: Deed, body: dict[str, Any]) -> None:
        seq = body["seq"]
        if seq is None:
            job = self.await_job(body["job"]["id"])
            if job is None:
                return
            seq = job["seq"]
        self._ledger.settle(deed, seq or 0)


class Canary(Uploader):
    """Uploads one document again and again, to show when a complete write works again."""

    pause_s = (0.05, 0.15)

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, documents=1, **options)
        #: Start of the last complete write.
        self.last_success_s = 0.0

    def act(self) -> None:
        """Upload a new revision and find it."""
        (number,) = self._numbers
        deed = self._begin(number, is_deletion=False)
        # Without a key: a first try that was killed would delay the next one for a minute.
        began_s = self._upload(deed, self._path(number), is_waiting=True, key="")
        query = {
            "q": texts.key_word(number),
            "typos": False,
            "mode": "lexical",
            "min_seq": deed.seq,
            "snippet_chars": 600,
        }
        found = self.persist(lambda: self._door.ask("search and wait", "POST", "/search", json=query))
        if found is None:
            return
        if deed.word not in found.text:
            self._answers.record_wrong(
                f"{deed.word} is not found with min_seq={deed.seq} after it was acknowledged"
            )
        self.last_success_s = began_s


class Editor(_Writer):
    """Writes, edits and deletes files of a folder, and requests syncs."""

    pause_s = (0.2, 1.0)

    def __init__(self, *arguments: Any, folder: Path, source_id: str, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._folder = folder
        self._source_id = source_id
        self._drafts = itertools.count()

    def act(self) -> None:
        """Change some files, sync, and wait for the end."""
        numbers = self._rng.sample(self._numbers, self._rng.randint(1, _MOST_FILES))
        deeds = [self._edit(number) for number in numbers]
        address = f"/sources/{self._source_id}/sync"
        answer = self.persist(lambda: self._door.ask("sync", "POST", address))
        job = None if answer is None else self.await_job(answer.json()["job"]["id"])
        if job is not None:
            for deed in deeds:
                self._ledger.settle(deed, job["seq"] or 0)

    def _edit(self, number: int) -> Deed:
        deed = self._begin(number, is_deletion=self._chooses_deletion(number))
        file = self._folder / self._path(number)
        if deed.text is None:
            file.unlink()
        else:
            file.parent.mkdir(exist_ok=True)
            # Replaced atomically, as a sync may be running.
            draft = self._folder.with_name(f"{self._folder.name}-draft-{next(self._drafts)}")
            draft.write_text(deed.text)
            os.replace(draft, file)  # noqa: PTH105 - the words of what it does
        return deed
