"""A mirror equals Postgres and a rebuilt mirror after any changes and syncs."""

import shutil
from functools import partial

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from search.corpus import delete_documents, update_document_fields
from search.mirror.files import MirrorFiles
from search.mirror.sync.checksum import check_integrity, postgres_checksum
from search.mirror.sync.sync import rebuild_mirror, sync_mirror
from search.models import Document
from tests.integration.search.mirror.inspection import checksum, tampering
from tests.support.corpus import chunk, make_workspace, write

PATHS = st.sampled_from(["a.md", "dir/b.md"])
TEXTS = st.sampled_from(["one", "two words", "three", "Größe 部署指南", "x" * 5000, "quote ' \" \\ \t end"])
HEADINGS = st.sampled_from(["Guide", "Guide > Setup", "日本"])
TAGS = st.lists(st.sampled_from(["x", "y", "z"]), max_size=3)


CHUNKS = st.lists(st.tuples(TEXTS, HEADINGS), max_size=5)


def replace(workspace, files, *, path, chunks, tags):
    drafts = [chunk(text, n, heading=heading) for n, (text, heading) in enumerate(chunks)]
    write(workspace, path, *drafts, tags=tuple(tags))


def delete(workspace, files, *, path):
    found = Document.objects.in_workspace(workspace).filter(path=path)
    delete_documents(workspace, list(found.values_list("doc_id", flat=True)))


def restate(workspace, files, *, path, tags, trust):
    for document in Document.objects.in_workspace(workspace).filter(path=path):
        update_document_fields(document, tags=tags, trust_level=trust)


def rebuild(workspace, files):
    rebuild_mirror(files, workspace.pk)


def step_with(action, **values):
    return st.builds(partial, st.just(action), **values)


ACTIONS = st.one_of(
    step_with(replace, path=PATHS, chunks=CHUNKS, tags=TAGS),
    step_with(replace, path=PATHS, chunks=CHUNKS, tags=TAGS),
    step_with(delete, path=PATHS),
    step_with(restate, path=PATHS, tags=TAGS, trust=st.sampled_from(["primary", "unknown"])),
    step_with(rebuild),
)


STEP = st.tuples(ACTIONS, st.booleans())


def assert_equal_after(mirrors, steps):
    workspace = make_workspace()
    files = MirrorFiles.of(mirrors, workspace.pk)
    write(workspace, "a.md", "one", "two words", "three")
    sync_mirror(files, workspace.pk)
    for act, then_sync in steps:
        act(workspace, files)
        if then_sync:
            sync_mirror(files, workspace.pk)
    sync_mirror(files, workspace.pk)
    followed = checksum(files)
    with tampering(files) as connection:
        check_integrity(connection)
    rebuild_mirror(files, workspace.pk)
    assert followed == postgres_checksum(workspace.pk) == checksum(files)
    shutil.rmtree(files.directory)


@pytest.mark.django_db(transaction=True)
@settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(STEP, min_size=2, max_size=6))
def test_mirror_after_any_changes_equals_postgres_and_a_rebuilt_one(mirrors, steps):
    assert_equal_after(mirrors, steps)


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(STEP, min_size=2, max_size=12))
def test_mirror_after_many_histories_equals_postgres_and_a_rebuilt_one(mirrors, steps):
    assert_equal_after(mirrors, steps)
