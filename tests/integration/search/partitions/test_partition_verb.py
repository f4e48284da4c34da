"""`kebab partition`."""

from collections import namedtuple

import pytest
from django.core.management.base import CommandError

from kebab.exit_codes import Exit
from kebab.identity.models import AuditEvent
from search.corpus import partitions
from search.corpus.partitions import TABLES
from tests.cli.commands import error_of, run, run_json

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])


def test_command_shows_the_partitions_of_tables(whole_again):
    found = run_json("partition")
    assert [(row["table"], row["parts"]) for row in found["tables"]] == [(table, 0) for table in TABLES]


@pytest.mark.slow
def test_command_partitions_tables_and_states_its_needs(whole_again):
    code, out, err = run("partition", "--parts", "2")
    assert code == Exit.DONE
    assert "disk" in err
    assert "search_chunkvector" in out
    found = run_json("partition", "--parts", "3")
    assert ({row["parts"] for row in found["tables"]}, found["changed"]) == ({3}, True)
    assert found["seconds"] > 0
    assert not run_json("partition", "--parts", "3")["changed"]
    events = AuditEvent.objects.filter(action="tables.partitioned").order_by("at")
    assert [event.subject for event in events] == ["2", "3"]


def test_wrong_number_of_parts_is_refused(whole_again):
    for parts in ("1", "-2", "257", "many"):
        with pytest.raises(CommandError, match="--parts"):
            run("partition", f"--parts={parts}")


def test_full_disk_and_older_server_are_noticed_before_it_begins(whole_again, monkeypatch):
    room = namedtuple("room", "free")(free=1_000)
    with monkeypatch.context() as patch:
        patch.setattr(partitions.shutil, "disk_usage", lambda path: room)
        assert error_of("partition", "--parts", "2", code=Exit.ERROR)["code"] == "cannot_partition"
    monkeypatch.setattr(partitions, "_OLDEST_SERVER", 990_000)
    assert "PostgreSQL 17" in error_of("partition", "--parts", "2", code=Exit.ERROR)["message"]
    assert {row["parts"] for row in run_json("partition")["tables"]} == {0}
