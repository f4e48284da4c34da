"""Whatever is written, in whatever order, with syncs wherever: a mirror equals Postgres and a new one."""

import shutil
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from search.corpus import delete_documents, restate_document
from search.mirror.checksum import check_integrity, postgres_checksum
from search.mirror.files import MirrorFiles
from search.mirror.sync import rebuild_mirror, sync_mirror
from search.models import Document
from tests.integration.search.mirror.looking import checksum, tampering
from tests.support.corpus import chunk, make_workspace, write

PATHS = st.sampled_from(["a.md", "dir/b.md"])
TEXTS = st.sampled_from(["one", "two words", "three", "Größe 部署指南", "x" * 5000, "quote ' \" \\ \t end"])
HEADINGS = st.sampled_from(["Guide", "Guide > Setup", "日本"])
TAGS = st.lists(st.sampled_from(["x", "y", "z"]), max_size=3)


@dataclass(frozen=True)
class Write:
    path: str
    chunks: list[tuple[str, str]]
    tags: list[str]

    def act(self, workspace, files):
        drafts = [chunk(text, n, heading=heading) for n, (text, heading) in enumerate(self.chunks)]
        write(workspace, self.path, *drafts, tags=tuple(self.tags))


@dataclass(frozen=True)
class Delete:
    path: str

    def act(self, workspace, files):
        found = Document.objects.in_workspace(workspace).filter(path=self.path)
        delete_documents(workspace, list(found.values_list("doc_id", flat=True)))


@dataclass(frozen=True)
class Restate:
    path: str
    tags: list[str]
    trust: str

    def act(self, workspace, files):
        for document in Document.objects.in_workspace(workspace).filter(path=self.path):
            restate_document(document, tags=self.tags, trust_level=self.trust)


@dataclass(frozen=True)
class Rebuild:
    def act(self, workspace, files):
        rebuild_mirror(files, workspace.pk)


ACTIONS = st.one_of(
    st.builds(Write, PATHS, st.lists(st.tuples(TEXTS, HEADINGS), max_size=5), TAGS),
    st.builds(Write, PATHS, st.lists(st.tuples(TEXTS, HEADINGS), max_size=5), TAGS),
    st.builds(Delete, PATHS),
    st.builds(Restate, PATHS, TAGS, st.sampled_from(["primary", "unknown"])),
    st.builds(Rebuild),
)


@pytest.mark.django_db(transaction=True)
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(ACTIONS, st.booleans()), min_size=2, max_size=12))
def test_a_mirror_after_any_changes_equals_postgres_and_a_rebuilt_one(mirrors, actions):
    workspace = make_workspace()
    files = MirrorFiles.of(mirrors, workspace.pk)
    write(workspace, "a.md", "one", "two words", "three")
    sync_mirror(files, workspace.pk)
    for action, then_sync in actions:
        action.act(workspace, files)
        if then_sync:
            sync_mirror(files, workspace.pk)
    sync_mirror(files, workspace.pk)
    followed = checksum(files)
    with tampering(files) as connection:
        check_integrity(connection)
    rebuild_mirror(files, workspace.pk)
    assert followed == postgres_checksum(workspace.pk) == checksum(files)
    shutil.rmtree(files.directory)
