from datetime import timedelta
from pathlib import Path

import pytest
from django.db.models.functions import Now

from ingest.jobs.queue import hints
from kebab.health.checks import CheckStatus
from kebab.health.process_checks import judge_clock, judge_disk
from kebab.health.server_checks import unprotected_tables
from kebab.stack.models import ProcessRole, StackProcess
from kebab.tenancy.roles import owner_connection
from tests.integration.kebab.backup.doctor import assert_repaired, results, statuses
from tests.integration.kebab.stack.databases import create_process

ALL = ["ingest", "mirror", "maintenance", "embed"]


@pytest.fixture
def processes(transactional_db):
    """Create the rows of all processes of one node."""
    hints._redis().delete(*ALL)
    others = (ProcessRole.WEB, ProcessRole.MIRROR, ProcessRole.BEAT)
    yield {"worker": create_process(queues=ALL), **{str(role): create_process(role) for role in others}}
    hints._redis().delete(*ALL)


def test_missing_process_or_queue_is_named(processes, subtests):
    assert statuses("processes") == {"ok"}
    for name in ("worker", "beat", "mirror"):
        with subtests.test(missing=name):
            row = StackProcess.objects.get(pk=processes[name].pk)
            row.delete()
            (found,) = results("processes")
            assert (found.status.value, name in found.detail) == ("failed", True)
            row.save(force_insert=True)
    workers = StackProcess.objects.filter(role="worker")
    workers.update(queues=["ingest", "mirror", "maintenance"])
    (found,) = results("processes")
    assert (found.status.value, "embed" in found.detail) == ("failed", True)
    workers.update(queues=["ingest", "maintenance", "embed"])  # each node syncs its mirrors by itself
    assert statuses("processes") == {"ok"}


def test_starting_or_stopped_stack_passes_the_process_check(processes):
    processes["worker"].delete()
    StackProcess.objects.update(started_at=Now())
    assert statuses("processes") == {"warning"}
    StackProcess.objects.all().delete()
    assert statuses("processes") == {"warning"}


def test_rows_of_silent_processes_are_deleted(processes):
    create_process(heartbeat_at=Now() - timedelta(minutes=1), queues=ALL, node="there")
    assert_repaired("processes", bad="warning")


def test_worker_with_unread_messages_is_reported_stuck(processes):
    hints._redis().lpush("ingest", "a message")
    (found,) = [each for each in results("processes") if each.status == "failed"]
    assert found.name == "stuck workers"


def test_several_nodes_with_blobs_of_their_own_are_a_warning(processes, servers):
    assert statuses("configuration") == {"ok"}
    create_process(ProcessRole.WEB, node="there")
    (found,) = results("configuration")
    assert found.status == CheckStatus.WARNING


def test_clock_is_compared_with_postgres(transactional_db):
    assert statuses("clock") == {"ok"}
    for ahead_s in (3_600.0, -6.0):
        assert judge_clock(ahead_s).status == CheckStatus.FAILED


def test_full_disk_is_reported_before_it_is_full(transactional_db):
    assert results("disks")
    for free, status in ((100_000_000, "failed"), (900_000_000, "warning"), (50_000_000_000, "ok")):
        assert judge_disk(Path("/data"), free_bytes=free, size_bytes=100_000_000_000).status == status


def test_dropped_policy_is_created_again(transactional_db):
    with owner_connection() as owner:
        owner.execute("DROP POLICY acting ON search_chunk")
        owner.execute("CREATE POLICY open ON search_document USING (true)")
        owner.execute("ALTER TABLE search_change DISABLE ROW LEVEL SECURITY")
    assert unprotected_tables() == ["search_change", "search_chunk", "search_document"]
    assert_repaired("row-level security")


def test_migration_of_a_later_version_is_a_warning(transactional_db):
    with owner_connection() as owner:
        owner.execute(
            "INSERT INTO django_migrations (app, name, applied) VALUES ('search', '9999_later', now())"
        )
    try:
        (found,) = results("migrations")
        assert (found.status.value, "search.9999_later" in found.detail) == ("warning", True)
    finally:
        with owner_connection() as owner:
            owner.execute("DELETE FROM django_migrations WHERE name = '9999_later'")
