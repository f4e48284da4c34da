"""Processes, clocks, disks and settings, as `kebab doctor` judges them."""

from datetime import timedelta
from pathlib import Path

import pytest
from django.db.models.functions import Now

from kebab.health.checks import TOLD, CheckStatus, register_check, run_checks, well
from kebab.health.surroundings import judge_clock, judge_disk
from kebab.stack.models import ProcessRole, StackProcess
from kebab.tenancy.checks import unwalled_tables
from kebab.tenancy.owner import owner_connection
from tests.integration.kebab.keeping.diagnosing import assert_mended, results, statuses

ALL = ["ingest", "mirror", "maintenance", "embed"]


def beating(role, *, age_s=0, started_s=600, queues=(), node="a", **fields):
    return StackProcess.objects.create(
        node=node,
        role=role,
        name=str(role),
        pid=1,
        queues=list(queues),
        started_at=Now() - timedelta(seconds=started_s),
        heartbeat_at=Now() - timedelta(seconds=age_s),
        **fields,
    )


@pytest.fixture
def family(transactional_db):
    """All the processes of one node."""
    return {
        "worker": beating(ProcessRole.WORKER, queues=ALL),
        **{str(role): beating(role) for role in (ProcessRole.WEB, ProcessRole.MIRROR, ProcessRole.BEAT)},
    }


def test_processes_of_which_none_is_missing_are_well(family):
    assert statuses("processes") == {"ok"}


@pytest.mark.parametrize(
    ("name", "told"), [("worker", "no worker takes"), ("beat", "no beat"), ("mirror", "no mirror process")]
)
def test_a_process_that_is_missing_is_named(family, name, told):
    family[name].delete()
    (found,) = results("processes")
    assert (found.status.value, told in found.detail) == ("failed", True)


def test_a_queue_without_a_worker_is_named(family):
    StackProcess.objects.filter(role="worker").update(queues=["ingest", "mirror", "maintenance"])
    (found,) = results("processes")
    assert (found.status.value, found.detail) == ("failed", "no worker takes from the queue embed")


def test_workers_apart_from_nodes_take_no_messages_for_mirrors(family):
    StackProcess.objects.filter(role="worker").update(queues=["ingest", "maintenance", "embed"])
    assert statuses("processes") == {"ok"}


def test_a_stack_that_has_just_started_gets_a_minute(family):
    family["worker"].delete()
    StackProcess.objects.update(started_at=Now())
    assert statuses("processes") == {"warning"}


def test_processes_that_ended_without_a_word_are_forgotten(family):
    beating(ProcessRole.WORKER, age_s=60, queues=ALL, node="b")
    assert_mended("processes", bad="warning")


def test_a_worker_that_has_work_and_does_none_is_told(family):
    from ingest.jobs import hints

    hints._redis().lpush("ingest", "a message")
    (found,) = [each for each in results("processes") if each.status == "failed"]
    assert found.name == "stuck workers"


def test_where_no_stack_runs_that_is_said_and_no_failure(transactional_db):
    assert statuses("processes") == {"warning"}


def test_several_nodes_with_blobs_of_their_own_are_warned_of(family, servers):
    beating(ProcessRole.WEB, node="b")
    (found,) = results("configuration")
    assert found.status == CheckStatus.WARNING
    assert "keep blobs in" in found.detail


def test_one_node_with_blobs_of_its_own_is_right(family):
    assert statuses("configuration") == {"ok"}


def test_the_clock_is_compared_with_postgres(transactional_db):
    assert statuses("clock") == {"ok"}


@pytest.mark.parametrize("ahead_s", [3_600.0, -6.0])
def test_a_clock_that_goes_wrong_is_told(ahead_s):
    found = judge_clock(ahead_s)
    assert found.status == CheckStatus.FAILED
    assert ("ahead of" in found.detail) is (ahead_s > 0)


def test_there_is_room_on_the_disks(transactional_db):
    assert all(each.startswith("room on the disk of") for each in (found.name for found in results("disks")))


@pytest.mark.parametrize(
    ("free", "status"), [(100_000_000, "failed"), (900_000_000, "warning"), (50_000_000_000, "ok")]
)
def test_a_full_disk_is_told_before_it_is_full(free, status):
    assert judge_disk(Path("/data"), free_bytes=free, size_bytes=100_000_000_000).status == status


def test_a_policy_that_was_dropped_is_made_again(transactional_db):
    with owner_connection() as owner:
        owner.execute("DROP POLICY acting ON search_chunk")
        owner.execute("CREATE POLICY open ON search_document USING (true)")
        owner.execute("ALTER TABLE search_change DISABLE ROW LEVEL SECURITY")
    assert unwalled_tables() == ["search_change", "search_chunk", "search_document"]
    assert_mended("row-level security")


def test_tables_that_a_later_version_made_are_told(transactional_db):
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


def test_of_ten_thousand_results_that_are_well_a_hundred_are_told(monkeypatch):
    monkeypatch.setattr("kebab.health.checks._known", {})
    register_check("many", lambda repair: [well(f"one {n}", "is well") for n in range(10_000)])
    found = list(run_checks())
    assert len(found) == TOLD + 1
    assert found[-1].detail == "9,900 more are well"


def test_a_deep_look_is_the_thorough_check(monkeypatch):
    monkeypatch.setattr("kebab.health.checks._known", {})
    register_check("one", lambda repair: well("one", "quick"), thorough=lambda repair: well("one", "deep"))
    assert [next(run_checks(deep=deep)).detail for deep in (False, True)] == ["quick", "deep"]
