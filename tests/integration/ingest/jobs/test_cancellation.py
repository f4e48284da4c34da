"""A job of every kind that waits for Postgres ends when it is cancelled."""

import threading
from uuid import uuid4

import psycopg
import pytest
from django.apps import apps
from django.db import connection

from ingest.jobs.queue import lease, run
from ingest.jobs.queue.request import cancel
from ingest.models import Job, JobState
from kebab.database.interruption import Interruption, interruptible
from kebab.identity.operator_token import OPERATOR_PREFIX
from kebab.tenancy.current_workspace import acting_everywhere
from kebab.tenancy.roles import owner_connection
from search.models import Source
from tests.support.concurrency import until_blocked
from tests.support.jobs import now_of

#: what the payloads of all kinds have
PAYLOAD = {"version": "", "path": "a.md", "blob": "0" * 64, "prefix": "", "run": str(uuid4())}
GATE = {"settings": {"rrf_k": 30}, "switch": False, "force": False, "creator": f"{OPERATOR_PREFIX}ada"}


@pytest.fixture
def locked_tables(workspace):
    """Lock all that a job reads but its own rows and its source, and return a function that unlocks them."""
    models = set(apps.get_app_config("search").get_models()) - {Source}
    tables = ", ".join(sorted(model._meta.db_table for model in models if model._meta.managed))
    with owner_connection() as owner:
        owner.execute("BEGIN")
        owner.execute(f"LOCK TABLE {tables} IN ACCESS EXCLUSIVE MODE")
        yield lambda: owner.execute("ROLLBACK")


@pytest.mark.parametrize("kind", run._RUNNERS)
def test_cancelled_job_of_every_kind_ends_while_its_statement_waits(
    workspace, source, locked_tables, monkeypatch, kind
):
    monkeypatch.setattr(lease, "_WATCH_S", 0.05)
    has_left, end_job = threading.Event(), run._end_job

    def note_end(*arguments, **options):
        has_left.set()
        end_job(*arguments, **options)

    monkeypatch.setattr(run, "_end_job", note_end)
    job = Job.objects.create(workspace=workspace, source=source, kind=kind, payload={**PAYLOAD, **GATE})
    thread = threading.Thread(target=run_in_thread, args=(job,))
    thread.start()
    try:
        until_blocked()
        assert now_of(job).state == JobState.RUNNING
        cancel(job)
        assert has_left.wait(5)
    finally:
        locked_tables()
        thread.join()
    assert now_of(job).state == JobState.CANCELLED


@acting_everywhere()
def run_in_thread(job):
    try:
        run.run_job(job.workspace_id, job.pk)
    finally:
        connection.close()


def test_statement_of_an_owners_connection_is_interrupted(workspace):
    interruption, is_over = Interruption(), threading.Event()

    def interrupt_until_over():
        while not is_over.wait(0.01):
            interruption.interrupt()

    with owner_connection() as owner:
        owner.execute("SET statement_timeout = '30s'")
        thread = threading.Thread(target=interrupt_until_over)
        with interruption.covers(), interruptible(owner):
            thread.start()
            with pytest.raises(psycopg.errors.QueryCanceled, match="user request"):
                owner.execute("SELECT pg_sleep(30)")
            is_over.set()
            thread.join()
        interruption.interrupt()
        assert owner.execute("SELECT 1").fetchone() == (1,)
