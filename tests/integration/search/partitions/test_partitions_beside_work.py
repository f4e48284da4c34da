"""During partitioning searches continue, writers wait, and a kill changes nothing."""

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest
from django.conf import settings as django_settings
from django.db import connection
from django.db.models.functions import Now

from ingest.models import Job, JobItem
from kebab.tenancy.current_workspace import acting_everywhere
from kebab.tenancy.roles import owner_connection
from search.corpus.partitions import TABLES, table_sizes
from search.models import Chunk
from search.retrieval.types import Mode
from tests.integration.search.partitions.catalog import describe_table, rows_of
from tests.integration.search.partitions.conftest import cut
from tests.support.actors import token_client
from tests.support.jobs import indexed_texts, upload, work
from tests.support.search import ask

# Cuts in a process of its own, which kills itself when it is told of its progress for the n-th time.
CUTTING = """
import os, signal, sys, django
django.setup()
from django.db import connections
for alias in ("default", "owner"):
    connections[alias].settings_dict["NAME"] = sys.argv[1]
from kebab.tenancy.current_workspace import acting_everywhere
from search.corpus.partitions import partition_tables
told = 0
def progress(words, more):
    global told
    told += 1
    if told == int(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)
with acting_everywhere():
    partition_tables(int(sys.argv[2]), memory_bytes=64 * 2**20, progress=progress)
"""
_NEVER = 0


@pytest.fixture
def impatient(filled_workspaces):
    """Let statements wait 200 ms for a lock instead of five seconds."""
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = 200")
        yield
        cursor.execute("SET lock_timeout = 5000")


def cutting(parts, *, killed_at=_NEVER):
    """Partition the tables in another process, and return its exit code."""
    numbers = (str(parts), str(killed_at))
    arguments = [sys.executable, "-c", CUTTING, connection.settings_dict["NAME"], *numbers]
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "kebab.settings"}
    return subprocess.run(
        arguments, env=environment, cwd=django_settings.BASE_DIR, timeout=120, check=False
    ).returncode


@pytest.mark.slow
def test_searches_return_the_same_hits_during_partitioning(filled_workspaces):
    _, workspace, _ = filled_workspaces
    expected = {mode: [hit.chunk_id for hit in ask(workspace, "apple number3", mode).hits] for mode in Mode}
    stop = Event()

    def search_on():
        found = []
        try:
            with acting_everywhere():
                while not stop.is_set():
                    for mode in Mode:
                        hits = ask(workspace, "apple number3", mode).hits
                        found.append((mode, [hit.chunk_id for hit in hits]))
        finally:
            connection.close()
        return found

    with ThreadPoolExecutor(2) as threads:
        searching = [threads.submit(search_on) for _ in range(2)]
        try:
            assert [cutting(parts) for parts in (4, 2, 0)] == [0, 0, 0]
        finally:
            stop.set()
        found = [each for one in searching for each in one.result()]
    assert len(found) > 20
    assert all(hits == expected[mode] for mode, hits in found)


@pytest.mark.slow
@pytest.mark.parametrize("killed_at", [1, 3, 6, 12])
@pytest.mark.parametrize("parts", [4, 0])
def test_killed_partitioning_leaves_the_old_tables(filled_workspaces, parts, killed_at):
    cut(0 if parts else 4)
    before = {table: (describe_table(table), rows_of(table)) for table in TABLES}
    assert cutting(parts, killed_at=killed_at) == -signal.SIGKILL
    assert {table: (describe_table(table), rows_of(table)) for table in TABLES} == before
    assert cutting(parts) == 0
    assert {each.parts for each in table_sizes()} == {parts}


def test_job_waits_while_partitioning_locks_out_writers(filled_workspaces, impatient, blobs):
    workspace = filled_workspaces[1]
    job = upload(workspace, "late.md", b"# Late\n\na quince\n")
    with owner_connection() as owner, owner.transaction():
        owner.execute(f"LOCK TABLE {', '.join(TABLES)} IN SHARE MODE")
        for _ in range(2):
            Job.objects.update(due_at=Now())
            waiting = work(job)
    assert waiting.state == "running"
    assert waiting.error
    assert list(JobItem.objects.filter(job=job.pk).values_list("state", "attempts")) == [("pending", 0)]
    Job.objects.update(due_at=Now())
    assert work(job).state == "succeeded"
    assert "late.md" in indexed_texts(workspace)


def test_uploads_are_accepted_and_deletions_refused_as_busy_while_writers_wait(
    filled_workspaces, impatient, blobs
):
    workspace = filled_workspaces[1]
    client = token_client(workspace, "search", "ingest")
    documents = f"/api/v1/workspaces/{workspace.slug}/documents"
    some = Chunk.objects.filter(workspace=workspace.pk).values_list("document__doc_id", flat=True)[0]
    with owner_connection() as owner, owner.transaction():
        owner.execute(f"LOCK TABLE {', '.join(TABLES)} IN SHARE MODE")
        taken = client.post(documents, {"path": "late.md", "text": "a quince"}, format="json")
        deleted = client.delete(f"{documents}/{some.hex}")
        read = client.get(f"{documents}/{some.hex}")
    assert (taken.status_code, read.status_code) == (202, 200)
    assert (deleted.status_code, deleted.json()["code"]) == (503, "busy")
    assert int(deleted["Retry-After"]) >= 1
