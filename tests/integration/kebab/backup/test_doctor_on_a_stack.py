"""`kebab doctor` reports and repairs a stack damaged in many places, without losing a document."""

import json
import shutil
import uuid
from collections.abc import Iterator

import psycopg
import pytest

from kebab.stack.servers.addresses import DATABASE_OWNER, database_url
from tests.acceptance.client import Client
from tests.support.stack import Stack, eventually, temporary_directory

pytestmark = pytest.mark.slow

DAMAGE = """
SET session_replication_role = replica;
DELETE FROM search_change WHERE seq = 2;
UPDATE search_chunkvector SET embed_hash = gen_random_uuid();
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'chunk_by_document'::regclass;
UPDATE search_source SET state = 'indexing';
INSERT INTO ingest_jobitem (workspace_id, job_id, path, action, state, attempts, outcome, reason, detail)
    SELECT id, gen_random_uuid(), 'a.md', 'ingest', 'done', 1, '', '', '' FROM people_workspace;
DROP POLICY acting ON search_document;
"""
FOUND = {"change log of ill", "vectors of ill", "indexes", "jobs", "rows", "row-level security", "leftovers"}


@pytest.fixture(scope="module")
def stack() -> Iterator[Stack]:
    running = Stack(temporary_directory(), KEBAB_EMBEDDER="hash", KEBAB_WEB_WORKERS="1")
    try:
        running.up()
        yield running
    finally:
        running.stop()
        running.remove()


def run_doctor(stack: Stack, *arguments: str) -> tuple[int, dict[str, set[str]]]:
    """Return the exit code of doctor and the names of its findings by status."""
    done = stack.run("doctor", "--json", *arguments)
    document = json.loads(done.stdout)
    assert document["schema_version"] == "doctor.v1"
    assert document["healthy"] is (done.returncode == 0)
    found: dict[str, set[str]] = {}
    for check in document["checks"]:
        found.setdefault(check["status"], set()).add(check["name"])
    return done.returncode, found


def test_damage_is_reported_and_repaired_without_losing_a_document(stack):
    stack.run("workspace", "create", "ill", "--json")
    scopes = ("--workspace", "ill", "--scope", "search,ingest", "--json")
    client = Client(stack.url, "ill", json.loads(stack.run("token", "create", *scopes).stdout)["token"])
    for number in range(4):
        client.upload(f"{number}.md", f"# Note\n\nA grebe{number} dives.\n", wait_for="searchable")
    eventually(lambda: run_doctor(stack)[0] == 0, "the stack is well", poll_s=2)

    with psycopg.connect(database_url(stack.data_dir, role=DATABASE_OWNER)) as owner:
        owner.execute(DAMAGE)
    folder = next(each for each in (stack.data_dir / "blobs").iterdir() if each.is_dir())
    shutil.copytree(folder, folder.with_name(str(uuid.uuid4())))
    code, found = run_doctor(stack)
    assert (code, FOUND - found["failed"]) == (3, set())

    code, found = run_doctor(stack, "--repair")
    assert (code, found.get("failed", set()), FOUND - found["repaired"]) == (0, set(), set())
    eventually(lambda: "vectors of ill" in run_doctor(stack)[1]["ok"], "vectors are made again", poll_s=2)
    assert run_doctor(stack, "--deep")[0] == 0
    assert len(client.get("/documents")["results"]) == 4
    for number in range(4):
        assert client.search(f"grebe{number}", mode="hybrid")["hits"][0]["doc_path"] == f"{number}.md"
    client.close()
