"""`kebab mirror rebuild`."""

import pytest
from django.core.management.base import CommandError

from kebab.cli.errors import Exit
from kebab.people import audit
from kebab.people.models import AuditEvent
from search import node
from tests.cli.running import error_of, run, run_json
from tests.support.corpus import make_workspace, write


@pytest.fixture(autouse=True)
def _nobody_waits(monkeypatch):
    from search.management.commands import mirror
    from search.mirror.sync import rebuild_mirror

    monkeypatch.setattr(mirror, "rebuild_mirror", lambda *a, **o: rebuild_mirror(*a, **o, wait_s=0))


def test_a_mirror_is_made_anew(workspace):
    write(workspace, "a.md", "one")
    (found,) = run_json("mirror", "rebuild")["mirrors"]

    assert (found["workspace"], found["documents"], found["seq"]) == (workspace.slug, 1, 1)
    assert node.mirror_seq(workspace.pk) == 1
    event = AuditEvent.objects.get()
    assert (event.actor, event.action, event.workspace) == (
        audit.operator(),
        "mirror.rebuild_asked",
        workspace,
    )


def test_only_the_named_workspaces_mirror_is_made_anew(workspace):
    other = make_workspace()
    found = run_json("mirror", "rebuild", "--workspace", other.slug)["mirrors"]
    assert [each["workspace"] for each in found] == [other.slug]
    assert len(run_json("mirror", "rebuild")["mirrors"]) == 2


def test_the_old_generation_is_replaced(workspace):
    run_json("mirror", "rebuild")
    before = node.mirror_files(workspace.pk).current()
    run_json("mirror", "rebuild")
    assert node.mirror_files(workspace.pk).current() != before


def test_people_see_progress_and_a_table(workspace):
    write(workspace, "a.md", "one")
    code, out, err = run("mirror", "rebuild")
    assert code == 0
    assert workspace.slug in out
    assert "1/1" in err


def test_a_mirror_that_another_process_writes_is_left_to_it(workspace):
    with node.mirror_files(workspace.pk).writing():
        error = error_of("mirror", "rebuild", code=Exit.ERROR)
    assert error["code"] == "mirror_busy"


def test_mirrors_are_built_before_a_node_takes_traffic(workspace):
    other = make_workspace()
    for each in (workspace, other):
        write(each, "a.md", "one")
    found = run_json("mirror", "warm", "--workspace", workspace.slug)
    assert (found["mirrors"], found["built"]) == (1, 1)
    found = run_json("mirror", "warm", "--all")
    assert (found["mirrors"], found["built"]) == (2, 1)
    assert [node.mirror_seq(each.pk) for each in (workspace, other)] == [1, 1]


def test_which_mirrors_to_warm_is_to_be_said(workspace):
    with pytest.raises(CommandError, match="--workspace --all"):
        run("mirror", "warm")
