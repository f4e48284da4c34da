"""Upgrade of earlier releases' data, concurrently with their searches, and the way back."""

import contextlib
import functools
import json
import os
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path

import httpx
import psycopg
import pytest

from kebab.stack.paths import DataDirectory
from kebab.stack.servers import addresses, secrets
from tests.acceptance.client import Client
from tests.acceptance.upgrade.versions import RELEASES, ROOT, VersionedStack, next_release, unpack_release
from tests.support.stack import Stack, eventually, temporary_directory

pytestmark = pytest.mark.slow

TEXTS = {
    f"birds/{name}.md": f"# {name.title()}\n\nThe {name} {habit}.\n\n## Nest\n\nThe {name} nests {place}.\n"
    for name, habit, place in [
        ("heron", "stands in the shallows and waits for fish", "in tall trees"),
        ("curlew", "calls over the moor in spring", "on the ground"),
        ("kingfisher", "dives for fish from a branch", "in a tunnel of the bank"),
        ("swift", "sleeps on the wing", "under roofs"),
    ]
}
QUERIES = ("heron", "fish", "where do birds nest", "calls in spring")
MODES = ("lexical", "vector", "hybrid")
#: Fields of documents and hits that the earlier releases don't have.
ADDED = (
    *("also_in", "author", "date", "metadata", "older", "omissions", "other_language", "outdated", "related"),
    *("replaced_by", "section_count", "sections", "text"),
)
# Jobs that a killed worker held wait for the end of their lease, of 45 s, before they are read and embedded.
LEASES_S = 180.0
# A reader blocks the migration's lock for this time, and searches must not wait behind it.
SLOW_S = 20.0


@pytest.fixture(scope="module")
def folders() -> Iterator[Path]:
    root = temporary_directory()
    yield root
    shutil.rmtree(root, ignore_errors=True)


@pytest.fixture(scope="module")
def release(folders) -> Callable[[str], Path]:
    """Return a function that returns the code of an earlier release, unpacked once."""
    return functools.cache(lambda version: unpack_release(version, folders / version))


@pytest.fixture
def data_dir() -> Iterator[Path]:
    path = temporary_directory()
    yield path
    Stack(path).remove()


@pytest.fixture
def other(data_dir) -> Iterator[Path]:
    """Yield the data directory of a second node, which shares the first one's blobs."""
    path = temporary_directory()
    (path / "blobs").symlink_to(data_dir / "blobs")
    yield path
    Stack(path).remove()


@pytest.fixture
def close_at_end() -> Iterator[Callable[[Client], Client]]:
    """Yield a function that registers a client to be closed at the end of the test."""
    with contextlib.ExitStack() as stack:

        def close_later(client: Client) -> Client:
            stack.callback(client.close)
            return client

        yield close_later


def stack_of(code: Path, data_dir: Path, **environment: str) -> VersionedStack:
    return VersionedStack(
        code, data_dir, KEBAB_EMBEDDER="hash", KEBAB_NODE_ID="node-a", KEBAB_WEB_WORKERS="1", **environment
    )


@contextlib.contextmanager
def run_stack(stack: Stack) -> Iterator[Stack]:
    stack.up()
    try:
        yield stack
    finally:
        stack.stop()


def run_json(stack: Stack, *arguments: str) -> dict:
    done = stack.run(*arguments, "--json")
    assert done.returncode == 0, done.stderr + done.stdout
    return json.loads(done.stdout)


def token_in(stack: Stack, slug: str) -> str:
    run_json(stack, "workspace", "create", slug)
    scopes = "search,ingest,manage,ask"
    return run_json(stack, "token", "create", "--workspace", slug, "--scope", scopes)["token"]


def jobs(client: Client) -> dict[str, int]:
    states = [job["state"] for job in client.get("/jobs", limit=100)["results"]]
    return {state: states.count(state) for state in set(states)}


def all_ended(client: Client) -> bool:
    return jobs(client).keys() <= {"succeeded", "failed", "cancelled"}


def hits_by_vector(client: Client) -> bytes:
    """Return the hits of all queries by vectors as bytes: ids, order, ranks, snippets, citations.

    Releases have different index versions and scores, which are left out, as are fields that a later one
    added.
    """
    found = [client.search(query, mode="vector")["hits"] for query in QUERIES]
    for hit in chain.from_iterable(found):
        for name in ("index_version", "score", *ADDED):
            hit.pop(name, None)
        for name in ("outdated", "pinned"):
            hit["retrieval"].pop(name, None)
    return json.dumps(found).encode() if all(found) else b""


def listed_documents(client: Client) -> list[dict[str, object]]:
    """Return the list of documents, without the fields that a later release added."""
    rows = client.get("/documents")["results"]
    return [{name: value for name, value in row.items() if name not in ADDED} for row in rows]


def found_chunks(client: Client) -> dict[tuple[str, str], dict[str, str]]:
    """Return the ids of the hits with their citations, by query and mode.

    A later release finds more by words, and ranks them in another order.
    """
    return {
        (query, mode): {
            hit["chunk_id"]: hit["citation"]["uri"] for hit in client.search(query, mode=mode)["hits"]
        }
        for query in QUERIES
        for mode in MODES
    }


def have_all(
    later: dict[tuple[str, str], dict[str, str]], earlier: dict[tuple[str, str], dict[str, str]]
) -> bool:
    return all(later[asked].items() >= found.items() for asked, found in earlier.items())


def paths(client: Client, query: str) -> list[str]:
    return [hit["doc_path"] for hit in client.search(query, mode="lexical")["hits"]]


@pytest.mark.parametrize("version", RELEASES)
def test_data_directory_of_an_earlier_release_is_upgraded_and_downgraded(
    version, release, data_dir, close_at_end
):
    old = stack_of(release(version), data_dir)
    with run_stack(old):
        client = close_at_end(Client(old.url, "birds", token_in(old, "birds")))
        waiting = close_at_end(Client(old.url, "waiting", token_in(old, "waiting")))
        for path, text in TEXTS.items():
            client.upload(path, text, wait_for="searchable")
        failed = client.upload("broken.pdf", "this is no PDF")["job"]["id"]
        eventually(lambda: all_ended(client), "everything is embedded")
        before, listed = hits_by_vector(client), listed_documents(client)
        found_before = found_chunks(client)
        assert before and all(found_before.values())
        states = jobs(client)
        for number in range(8):
            waiting.upload(f"{number}.md", f"# Late\n\nThe wren{number} came late.\n")
        os.kill(old.pids()["supervisor"], signal.SIGKILL)

    new = stack_of(ROOT, data_dir)
    with run_stack(new):
        moved, late = close_at_end(client.at(new.url)), close_at_end(waiting.at(new.url))
        eventually(lambda: hits_by_vector(moved) == before, "the hits are the same to the byte")
        eventually(lambda: have_all(found_chunks(moved), found_before), "all of before is found")
        assert listed_documents(moved) == listed
        assert jobs(moved) == states
        assert moved.get(f"/jobs/{failed}")["id"] == failed
        eventually(lambda: all_ended(late), "what was asked for before is done", LEASES_S)
        eventually(lambda: paths(late, "wren7")[:1] == ["7.md"], "it is found")
        assert {each["path"] for each in late.get("/documents")["results"]} == {f"{n}.md" for n in range(8)}
        moved.upload("birds/wren.md", "# Wren\n\nThe wren sings in the hedge.\n", wait_for="searchable")
        eventually(lambda: all_ended(moved), "the new document is embedded")
        after, found_after = hits_by_vector(moved), found_chunks(moved)
        assert run_json(new, "doctor", "--deep")["healthy"]

    with run_stack(old):
        back = close_at_end(client.at(old.url))
        eventually(lambda: hits_by_vector(back) == after, "the hits are the same to the byte")
        eventually(lambda: have_all(found_after, found_chunks(back)), "what is found was found after")
        assert paths(back, "hedge") == ["birds/wren.md"]
        back.upload("birds/rook.md", "# Rook\n\nThe rook walks behind the plough.\n", wait_for="searchable")
        assert paths(back, "plough") == ["birds/rook.md"]
        assert run_json(old, "doctor")["healthy"]


class SearchLoop:
    """Searches through one node continuously, and records failures."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.slowest_s = 0.0
        self.searches = 0
        self.faults: list[str] = []

    def __enter__(self) -> "SearchLoop":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.is_set():
            began = time.monotonic()
            try:
                answer = self._client.request("POST", "/search", json={"q": "heron", "mode": "hybrid"})
            except httpx.HTTPError as error:
                self.faults.append(repr(error))
                continue
            self.slowest_s = max(self.slowest_s, time.monotonic() - began)
            self.searches += 1
            if answer.status_code != 200 or not answer.json()["hits"]:
                self.faults.append(f"{answer.status_code} {answer.text[:200]}")


@contextlib.contextmanager
def open_reader(stack: Stack) -> Iterator[None]:
    """Read documents in an open transaction, as a mirror's rebuild does."""
    with psycopg.connect(addresses.database_url(stack.data_dir, role=addresses.DATABASE_OWNER)) as reader:
        reader.execute("SELECT count(*) FROM search_document")
        yield


def migrate_beside_reader(stack: Stack, reader_of: Stack, log: Path) -> str:
    """Run `kebab init` of `stack` beside an open transaction until it has waited; return its output."""
    with log.open("wb") as stream, open_reader(reader_of):
        preparing = stack.start("init", stdout=stream, stderr=stream)
        eventually(lambda: "comes again" in log.read_text() or preparing.poll() is not None, "it waits", 120)
    assert preparing.wait(300) == 0, log.read_text()
    return log.read_text()


def test_later_version_migrates_beside_searches_and_both_write(
    release, folders, data_dir, other, close_at_end
):
    old = stack_of(release("0.1.0"), data_dir)
    with run_stack(old):
        client = close_at_end(Client(old.url, "birds", token_in(old, "birds")))
        for path, text in TEXTS.items():
            client.upload(path, text, wait_for="searchable")
        new = VersionedStack(
            next_release(folders / "next"),
            other,
            KEBAB_BLOBS_URL=f"file://{DataDirectory(data_dir).blobs}",
            KEBAB_EMBEDDER="hash",
            KEBAB_NODE_ID="node-b",
            KEBAB_WEB_WORKERS="1",
            KEBAB_SECRET_KEY=secrets.load_or_create(data_dir).secret_key,
            DATABASE_URL=addresses.database_url(data_dir),
            KEBAB_OWNER_DATABASE_URL=addresses.database_url(data_dir, role=addresses.DATABASE_OWNER),
            REDIS_URL=addresses.redis_url(data_dir),
        )
        with SearchLoop(client) as searching:
            said_of_it = migrate_beside_reader(new, old, folders / "init.log")
        assert searching.faults == [], said_of_it
        assert "comes again" in said_of_it
        assert searching.searches > 10
        assert searching.slowest_s < SLOW_S

        web = new.start("web")
        try:
            eventually(new.answers, "the later version serves")
            moved = close_at_end(client.at(new.url))
            moved.upload("birds/wren.md", "# Wren\n\nThe wren sings in the hedge.\n", wait_for="searchable")
            assert paths(client, "hedge") == paths(moved, "hedge") == ["birds/wren.md"]
        finally:
            web.terminate()
            web.wait(60)
        client.upload("birds/rook.md", "# Rook\n\nThe rook follows the plough.\n", wait_for="searchable")

    with run_stack(old):  # the way back: the first version starts on the migrated data
        back = close_at_end(client.at(old.url))
        eventually(lambda: paths(back, "plough") == ["birds/rook.md"], "what was written last is found")
        assert run_json(old, "doctor")["healthy"]
