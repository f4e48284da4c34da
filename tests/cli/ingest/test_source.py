"""`kebab source`, and readers in `kebab ingest` and `kebab list sources`."""

import pytest

from kebab.cli.errors import CliError
from kebab.exit_codes import Exit
from kebab.identity.models import AuditEvent, Group
from search.access.restrictions import annotate_readers, readers_of
from search.models import Source
from tests.cli.commands import error_of, run, run_json
from tests.cli.ingest.asking import ask
from tests.support.corpus import make_workspace, write


@pytest.fixture
def groups(workspace):
    return {name: Group.objects.create(workspace=workspace, name=name) for name in ("board", "sea shore")}


@pytest.fixture
def source(workspace, groups):
    write(workspace, "a.md", "one")
    return Source.objects.in_workspace(workspace).get()


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "minutes"
    made.mkdir()
    (made / "a.md").write_text("# A\n")
    return made


def readers(workspace, key="docs"):
    return readers_of(annotate_readers(Source.objects.in_workspace(workspace)).get(key=key))


def events(workspace):
    found = AuditEvent.objects.filter(workspace=workspace.pk, action="source.readers_changed")
    return [(event.actor.partition(":")[0], event.subject) for event in found]


def test_source_is_restricted_and_opened(workspace, source, groups):
    output = run_json("source", "restrict", "docs", "--to", f"sea shore,{groups['board'].pk}")

    assert {group["name"] for group in output["readers"]} == {"board", "sea shore"}
    assert readers(workspace) == sorted(group.pk for group in groups.values())
    assert run_json("source", "restrict", "docs", "--to", "")["readers"] == []
    assert readers(workspace) == []
    assert run_json("source", "restrict", "docs", "--open")["readers"] is None
    assert readers(workspace) is None
    assert events(workspace) == [("operator", "docs")] * 3
    code, out, _ = run("source", "restrict", "docs", "--to", "board")
    assert (code, "board" in out, "docs" in out) == (0, True, True)


def test_trust_level_of_a_source_is_set(workspace, source):
    output = run_json("source", "trust", "docs", "secondary")
    assert (output["source"], output["default_trust"]) == ("docs", "secondary")
    source.refresh_from_db()
    assert source.default_trust == source.documents.get().trust_level == "secondary"
    assert AuditEvent.objects.get(action="source.changed").detail["fields"] == ["default_trust"]


def test_sources_are_listed_with_their_readers(workspace, source):
    run_json("source", "restrict", "docs", "--to", "board")
    write(workspace, "b.md", "two", source="open")
    header, docs, other = run("list", "sources", "--workspace", workspace.slug)[1].splitlines()

    assert "readers" in header.split()
    assert ("board" in docs.split(), "board" in other.split()) == (True, False)


def test_missing_group_or_source_changes_nothing(workspace, source):
    Group.objects.create(workspace=make_workspace(), name="theirs")
    here = ("--workspace", workspace.slug)
    for group in ("theirs", "nobody"):
        error = error_of("source", "restrict", "docs", "--to", f"board,{group}", *here, code=Exit.NOTHING)
        assert (error["code"], group in error["message"]) == ("not_found", True)
    error = error_of("source", "restrict", "nothing", "--open", *here, code=Exit.NOTHING)
    assert error["code"] == "not_found"
    for arguments in ([], ["--to", "board", "--open"], ["--to", "board,"]):
        assert (
            error_of("source", "restrict", "docs", *arguments, code=Exit.ERROR)["code"] == "invalid_arguments"
        )
    assert readers(workspace) is None


def test_new_source_is_restricted_from_its_first_moment(workspace, groups, folder, blobs):
    with pytest.raises(CliError, match="'nobody'"):
        ask(workspace, folder, "--readers", "nobody")
    assert not Source.objects.in_workspace(workspace).exists()
    job = ask(workspace, folder, "--readers", "board")

    assert readers(workspace, "minutes") == [groups["board"].pk]
    assert events(workspace) == [("operator", "minutes")]
    assert ask(workspace, folder, "--readers", "board") == job
    with pytest.raises(CliError, match="kebab source restrict minutes"):
        ask(workspace, folder, "--readers", "")
    ask(workspace, folder / "a.md", "--source", "inbox", "--readers", "")
    assert readers(workspace, "inbox") == []


def test_connection_of_a_source_is_tested(workspace, folder, settings):
    settings.KEBAB_FOLDER_ROOTS = [folder.parent]
    Source.objects.create(workspace=workspace, key="minutes", kind="folder", config={"path": str(folder)})
    output = run_json("source", "test", "minutes")
    assert (output["source"], output["schema_version"]) == ("minutes", "source_test.v1")
    (folder / "a.md").unlink()
    folder.rmdir()
    assert error_of("source", "test", "minutes", code=Exit.ERROR)["code"] == "connection_failed"
