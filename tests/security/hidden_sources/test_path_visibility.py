"""Folders and local repositories of hidden sources: no second source reads them for others."""

import pytest

from ingest.services.source_definition import overlaps_hidden
from kebab.identity.reader import OPERATOR, Reader
from search.corpus import ensure_source
from search.models import Source, SourceReader
from tests.security.hidden_sources.requests import send


@pytest.fixture
def root(tmp_path, settings):
    """Create readable folders; `staff/hr` and the repository `plans` belong to hidden sources."""
    root = tmp_path.resolve() / "docs"
    for folder in ("staff/hr/pay", "staff/hrx", "open", "plans/.git", "plans/texts"):
        (root / folder).mkdir(parents=True)
    (root / "way-in").symlink_to(root / "staff/hr")
    settings.KEBAB_FOLDER_ROOTS = [root]
    return root


@pytest.fixture
def hidden_sources(workspace, group, root, tmp_path):
    """Create hidden sources: a folder, named by a link to it, and a repository."""
    link = tmp_path / "link"
    link.symlink_to(root / "staff/hr")
    configs = {"folder": {"path": str(link)}, "git": {"url": f"file://{root}/plans/.git"}}
    sources = [
        ensure_source(workspace, f"hidden-{kind}", kind=kind, config=configs[kind]) for kind in configs
    ]
    for source in sources:
        SourceReader.objects.create(workspace=workspace, source=source, group=group)
    Source.objects.filter(pk__in=[source.pk for source in sources]).update(is_restricted=True)
    return sources


def ask(client, workspace, folder, kind="folder", key="second"):
    config = {"path": str(folder)} if kind == "folder" else {"url": f"file://{folder}"}
    key = key.replace("/", "-").replace(".", "all")
    return send(client, workspace, "/sources", "post", {"key": key, "kind": kind, "config": config})


def refusal(answer, folder):
    """Return the contents of a rejection, without the folder's name."""
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
def test_folder_that_overlaps_a_hidden_source_is_rejected_like_one_outside(
    outside_editor, workspace, hidden_sources, root, kind, subtests
):
    outside = refusal(ask(outside_editor, workspace, "/nowhere", kind), "/nowhere")
    assert outside[:2] == (422, "folder_not_allowed")
    for tail in OVERLAPPING:
        with subtests.test(tail=tail):
            assert refusal(ask(outside_editor, workspace, root / tail, kind), root / tail) == outside
    assert Source.objects.in_workspace(workspace).count() == len(hidden_sources)


def test_neighbouring_folder_is_accepted(outside_editor, workspace, hidden_sources, root):
    for tail in ("open", "staff/hrx"):
        assert ask(outside_editor, workspace, root / tail, key=tail).status_code == 201


def test_insider_may_add_the_folder_again(insider, workspace, hidden_sources, root):
    for tail in (".", "staff/hr/pay", "plans"):
        assert ask(insider, workspace, root / tail, key=tail).status_code == 201


def test_folder_of_a_reopened_source_can_be_added_again(outside_editor, workspace, hidden_sources, root):
    Source.objects.update(is_restricted=False)
    assert ask(outside_editor, workspace, root).status_code == 201


def test_operator_may_add_any_folder(workspace, hidden_sources, root):
    assert not overlaps_hidden(root, workspace, OPERATOR)


def test_hidden_source_with_a_missing_folder_still_blocks_it(outside_editor, workspace, hidden_sources, root):
    for folder in ("staff/hr/pay", "staff/hr"):
        (root / folder).rmdir()
    assert ask(outside_editor, workspace, root / "staff").status_code == 422


def test_two_names_of_one_folder_count_as_the_same(workspace, hidden_sources, root, tmp_path):
    """Use a link in place of a case-insensitive disk or a second mount, and disable its resolution."""
    second = tmp_path / "second"
    second.symlink_to(root / "staff/hr")

    assert overlaps_hidden(second, workspace, Reader())
    assert overlaps_hidden(second / "pay", workspace, Reader())
    assert not overlaps_hidden(tmp_path / "third", workspace, Reader())
