"""Checks after a siege, from outside: over HTTP and by `kebab doctor`."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from tests.drills.crash.siege import texts
from tests.drills.crash.siege.door import Door
from tests.drills.crash.siege.ledger import Ledger
from tests.support.stack import Stack

_PAGE = 200
_MOST_LISTED = 5
_DOCTOR_LIMIT_S = 300.0
_OPEN = ("queued", "running")


def open_jobs(door: Door) -> int | None:
    """Return the number of unfinished jobs; None when it can't be determined now."""
    counts = [_rows(door, "/jobs", state=state) for state in _OPEN]
    return None if None in counts else sum(len(rows or ()) for rows in counts)


def documents_equal_the_ledger(door: Door, ledger: Ledger) -> Iterator[str]:
    """Check that exactly the acknowledged documents exist, once each, with their last text."""
    rows = _rows(door, "/documents")
    if rows is None:
        yield "the documents can't be listed"
        return
    final_texts = ledger.final_texts()
    times = Counter(row["path"] for row in rows)
    yield from _summary("listed twice", [path for path, n in times.items() if n > 1])
    yield from _summary(
        "lost", [path for path, text in final_texts.items() if text is not None and path not in times]
    )
    yield from _summary(
        "deleted and listed", [p for p in times if p in final_texts and final_texts[p] is None]
    )
    yield from _summary("listed and never written", [path for path in times if path not in final_texts])
    yield from _summary("with another text", list(_differing_texts(door, rows, ledger)))


def _differing_texts(door: Door, rows: list[dict[str, Any]], ledger: Ledger) -> Iterator[str]:
    final_texts = ledger.final_texts()
    for row in rows:
        answer = door.ask("read", "GET", f"/documents/{row['id']}/content")
        text = final_texts.get(row["path"])
        if text is not None and (answer is None or answer.text != text):
            shown = answer and sorted(texts.revision_words(answer.text))
            yield f"{row['path']} ({shown} for {sorted(texts.revision_words(text))})"


def searches_equal_the_ledger(door: Door, ledger: Ledger) -> Iterator[str]:
    """Check that a search for each document's word shows its last text alone, and nothing of deleted ones."""
    final_texts = ledger.final_texts()
    for path in ledger.paths():
        query = {"q": ledger.key_words[path], "typos": False, "mode": "lexical", "snippet_chars": 600}
        answer = door.ask("search", "POST", "/search", json={**query, "min_seq": ledger.last_seq()})
        if answer is None:
            yield f"{path} can't be searched for"
            continue
        hits = [hit for hit in answer.json()["hits"] if hit["doc_path"] == path]
        shown = texts.revision_words(" ".join(hit["snippet"] for hit in hits))
        expected = texts.revision_words(final_texts[path] or "")
        if shown != expected:
            yield f"{path}: found {sorted(shown)}, is {sorted(expected)}"


def doctor_passes(stack: Stack) -> Iterator[str]:
    """Check that no check of `kebab doctor` fails, and that every mirror equals Postgres by checksum."""
    done = stack.run("doctor", "--json", limit_s=_DOCTOR_LIMIT_S)
    try:
        checks = json.loads(done.stdout)["checks"]
    except ValueError:
        yield f"the doctor says: {done.stdout[-300:]} {done.stderr[-300:]}"
        return
    for check in checks:
        if check["status"] == "failed":
            yield f"{check['name']}: {check['detail']}"
    if not any(check["name"].startswith("mirror") for check in checks):
        yield "the doctor checked no mirror"


def _rows(door: Door, path: str, **parameters: str) -> list[dict[str, Any]] | None:
    rows: list[dict[str, Any]] = []
    cursor: dict[str, str] = {}
    while True:
        answer = door.ask("list", "GET", path, params={"limit": _PAGE, **parameters, **cursor})
        if answer is None:
            return None
        rows += answer.json()["results"]
        if answer.json()["next_cursor"] is None:
            return rows
        cursor = {"cursor": answer.json()["next_cursor"]}


def _summary(what: str, found: list[str]) -> Iterator[str]:
    if found:
        yield f"{len(found)} {what}: {', '.join(sorted(found)[:_MOST_LISTED])}"
