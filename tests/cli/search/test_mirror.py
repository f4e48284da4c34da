import pytest
from django.core.management.base import CommandError

from kebab.exit_codes import Exit
from kebab.identity.models import AuditEvent
from kebab.people import audit
from search.management.commands import mirror
from search.mirror import local_mirrors
from search.mirror.sync.sync import rebuild_mirror
from tests.cli.commands import error_of, run, run_json
from tests.support.corpus import make_workspace, write


@pytest.fixture(autouse=True)
def _nobody_waits(monkeypatch):
    monkeypatch.setattr(mirror, "rebuild_mirror", lambda *a, **o: rebuild_mirror(*a, **o, wait_s=0))


def test_rebuild_replaces_the_generation_and_is_audited(workspace):
    write(workspace, "a.md", "one")
    (found,) = run_json("mirror", "rebuild")["mirrors"]
    event = AuditEvent.objects.get()
    before = local_mirrors.mirror_files(workspace.pk).current()

    assert (found["workspace"], found["documents"], found["seq"]) == (workspace.slug, 1, 1)
    assert local_mirrors.mirror_seq(workspace.pk) == 1
    assert (event.actor, event.workspace) == (audit.operator_actor(), workspace)
    assert event.action == "mirror.rebuild_asked"
    code, out, err = run("mirror", "rebuild")
    assert (code, workspace.slug in out, "1/1" in err) == (0, True, True)
    assert local_mirrors.mirror_files(workspace.pk).current() != before


def test_only_the_named_workspaces_mirror_is_rebuilt(workspace):
    other = make_workspace()
    found = run_json("mirror", "rebuild", "--workspace", other.slug)["mirrors"]
    assert [each["workspace"] for each in found] == [other.slug]
    assert len(run_json("mirror", "rebuild")["mirrors"]) == 2


def test_mirror_that_another_process_writes_is_busy(workspace):
    with local_mirrors.mirror_files(workspace.pk).write_lock():
        assert error_of("mirror", "rebuild", code=Exit.ERROR)["code"] == "mirror_busy"


def test_mirrors_are_built_before_a_node_takes_traffic(workspace):
    other = make_workspace()
    for each in (workspace, other):
        write(each, "a.md", "one")
    found = run_json("mirror", "warm", "--workspace", workspace.slug)
    assert (found["mirrors"], found["built"]) == (1, 1)
    found = run_json("mirror", "warm", "--all")
    assert (found["mirrors"], found["built"]) == (2, 1)
    assert [local_mirrors.mirror_seq(each.pk) for each in (workspace, other)] == [1, 1]
    with pytest.raises(CommandError):
        run("mirror", "warm")
