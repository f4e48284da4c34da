"""Folders and local repositories of hidden sources: no second source reads them for others."""

import pytest

from ingest.services.path_visibility import overlaps_hidden
from kebab.people.reader import OPERATOR, Reader
from search.corpus import ensure_source
from search.models import Source, SourceReader
from tests.security.hidden_sources.calling import send


@pytest.fixture
def root(tmp_path, settings):
    """Folders that may be read, of which `staff/hr` and the repository `plans` are of hidden sources."""
    root = tmp_path.resolve() / "docs"
    for folder in ("staff/hr/pay", "staff/hrx", "open", "plans/.git", "plans/texts"):
        (root / folder).mkdir(parents=True)
    (root / "way-in").symlink_to(root / "staff/hr")
    settings.KEBAB_FOLDER_ROOTS = [root]
    return root


@pytest.fixture
def hidden(workspace, group, root, tmp_path):
    """A folder, named by a link to it, and a repository, each of a source of the group's own."""
    link = tmp_path / "link"
    link.symlink_to(root / "staff/hr")
    configs = {"folder": {"path": str(link)}, "git": {"url": f"file://{root}/plans/.git"}}
    made = [ensure_source(workspace, f"hidden-{kind}", kind=kind, config=configs[kind]) for kind in configs]
    for source in made:
        SourceReader.objects.create(workspace=workspace, source=source, group=group)
    Source.objects.filter(pk__in=[source.pk for source in made]).update(is_restricted=True)
    return made


def ask(client, workspace, folder, kind="folder", key="second"):
    config = {"path": str(folder)} if kind == "folder" else {"url": f"file://{folder}"}
    key = key.replace("/", "-").replace(".", "all")
    return send(client, workspace, "/sources", "post", {"key": key, "kind": kind, "config": config})


def refusal(answer, folder):
    """Return what an answer says, whatever the folder is called."""
    body = answer.json()
    return answer.status_code, body["code"], body["detail"].replace(str(folder), "FOLDER")


OVERLAPPING = [
    ".",
    "staff",
    "staff/hr",
    "staff/hr/pay",
    "staff/hr/../hr",
    "staff/hr/missing",
    "way-in",
    "way-in/pay",
    "plans",
    "plans/texts",
]


@pytest.mark.parametrize("kind", ["folder", "git"])
def test_what_overlaps_a_hidden_source_is_refused_like_what_lies_outside(
    outside_editor, workspace, hidden, root, kind, subtests
):
    outside = refusal(ask(outside_editor, workspace, "/nowhere", kind), "/nowhere")
    assert outside[:2] == (422, "folder_not_allowed")
    for tail in OVERLAPPING:
        with subtests.test(tail=tail):
            assert refusal(ask(outside_editor, workspace, root / tail, kind), root / tail) == outside
    assert Source.objects.in_workspace(workspace).count() == len(hidden)


def test_what_lies_beside_it_is_read(outside_editor, workspace, hidden, root):
    for tail in ("open", "staff/hrx"):
        assert ask(outside_editor, workspace, root / tail, key=tail).status_code == 201


def test_those_who_read_it_may_read_it_twice(insider, workspace, hidden, root):
    for tail in (".", "staff/hr/pay", "plans"):
        assert ask(insider, workspace, root / tail, key=tail).status_code == 201


def test_a_source_that_is_open_again_bars_nobody(outside_editor, workspace, hidden, root):
    Source.objects.update(is_restricted=False)
    assert ask(outside_editor, workspace, root).status_code == 201


def test_the_operator_may_have_any_folder_read(workspace, hidden, root):
    assert not overlaps_hidden(root, workspace, OPERATOR)


def test_a_hidden_source_whose_folder_is_away_bars_it_still(outside_editor, workspace, hidden, root):
    for folder in ("staff/hr/pay", "staff/hr"):
        (root / folder).rmdir()
    assert ask(outside_editor, workspace, root / "staff").status_code == 422


def test_one_folder_under_two_names_is_one(workspace, hidden, root, tmp_path):
    """As on a disk that ignores case or is mounted twice; a link stands for that, when it isn't followed."""
    second = tmp_path / "second"
    second.symlink_to(root / "staff/hr")

    assert overlaps_hidden(second, workspace, Reader())
    assert overlaps_hidden(second / "pay", workspace, Reader())
    assert not overlaps_hidden(tmp_path / "third", workspace, Reader())
