"""`kebab partition`."""

from collections import namedtuple
from contextlib import nullcontext

import pytest
from django.core.management.base import CommandError

from kebab.cli import verb
from kebab.cli.errors import Exit
from kebab.people.models import AuditEvent
from search import partitions
from search.partitions import TABLES
from tests.cli.running import error_of, run, run_json

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])


@pytest.fixture(autouse=True)
def _servers_run_already(monkeypatch):
    monkeypatch.setattr(verb, "borrowed_stack", lambda *_, **__: nullcontext())


def test_it_shows_how_tables_are_cut(whole_again):
    found = run_json("partition")
    assert [(row["table"], row["parts"]) for row in found["tables"]] == [(table, 0) for table in TABLES]


def test_it_cuts_them_says_how_long_that_took_and_what_was_done_is_written_down(whole_again):
    found = run_json("partition", "--parts", "2")
    assert {row["parts"] for row in found["tables"]} == {2}
    assert found["changed"]
    assert found["seconds"] > 0
    assert not run_json("partition", "--parts", "2")["changed"]
    assert [event.subject for event in AuditEvent.objects.filter(action="tables.partitioned")] == ["2"]


def test_people_are_told_before_what_it_needs_and_who_waits(whole_again):
    code, out, err = run("partition", "--parts", "2")
    assert code == Exit.DONE
    assert "more on the database's disk" in err
    assert "Searches go on" in err
    assert "search_chunkvector" in out


@pytest.mark.parametrize("parts", ["1", "-2", "257", "many"])
def test_a_number_that_makes_no_sense_is_refused(whole_again, parts):
    with pytest.raises(CommandError, match="--parts"):
        run("partition", f"--parts={parts}")


def test_without_room_on_the_disk_nothing_is_begun(whole_again, monkeypatch):
    room = namedtuple("room", "free")(free=1_000)
    monkeypatch.setattr(partitions.shutil, "disk_usage", lambda path: room)
    error = error_of("partition", "--parts", "2", code=Exit.ERROR)
    assert error["code"] == "cannot_partition"
    assert "free" in error["message"]


def test_an_older_server_is_refused(whole_again, monkeypatch):
    monkeypatch.setattr(partitions, "_OLDEST_SERVER", 990_000)
    assert "PostgreSQL 17" in error_of("partition", "--parts", "2", code=Exit.ERROR)["message"]
