"""An imported workspace has the rows and results of the exported one."""

import stat

import pytest

from kebab.identity.models import AuditEvent
from search.bundles.format.manifest import manifest_digest
from search.corpus.blobs import read_blob
from search.models import Document, Source, SourceReader
from search.retrieval.types import Mode
from search.wire import hit_to_wire
from tests.integration.search.bundles.factories import QUERIES, rows_of
from tests.support.search import ask, paths

pytestmark = pytest.mark.django_db


def wire(workspace, text, mode):
    return [hit_to_wire(hit) for hit in ask(workspace, text, mode, k=30).hits]


def test_rows_bytes_settings_and_names_come_back(round_trip):
    assert rows_of(round_trip.imported) == rows_of(round_trip.workspace)
    assert round_trip.imported.settings == {"default_k": 7}
    assert (round_trip.imported.name, round_trip.imported.corpus_id) == (
        round_trip.workspace.name,
        round_trip.workspace.corpus_id,
    )
    hashes = list(
        Document.objects.filter(workspace=round_trip.imported).values_list("content_hash", flat=True)
    )
    assert len(hashes) == 13
    for hash_ in hashes:
        assert read_blob(round_trip.imported.pk, hash_) == read_blob(round_trip.workspace.pk, hash_)


def test_hits_are_equal_to_the_last_digit(round_trip, subtests):
    for mode in Mode:
        for text in QUERIES[9:] if mode is not Mode.HYBRID else QUERIES[9:-1]:
            with subtests.test(mode=mode, text=text):
                assert wire(round_trip.imported, text, mode) == wire(round_trip.workspace, text, mode)


def test_restricted_source_is_imported_without_readers(round_trip):
    source = Source.objects.get(workspace=round_trip.imported, key="secrets")
    reader = SourceReader.objects.get(workspace=round_trip.imported, source=source)

    assert source.is_restricted
    assert (reader.group.name, reader.group.members.count(), reader.group.tokens.count()) == ("keepers", 0, 0)
    assert "vault.md" not in paths(ask(round_trip.imported, "vault dawn"))


def test_bundle_is_for_its_owner_and_leaves_no_draft(round_trip):
    assert stat.S_IMODE(round_trip.file.stat().st_mode) == 0o600
    files = [path.name for path in round_trip.file.parent.iterdir() if path.is_file()]
    assert sorted(files) == ["again.kebab", "all.kebab"]


def test_bundle_of_an_import_differs_in_names_alone(round_trip):
    first, second = round_trip.manifest, round_trip.second_manifest
    differing = {name for name in first.sections if first.sections[name] != second.sections[name]}

    # Slug and ids of sources are others.
    assert differing == {"workspace", "sources"}
    assert manifest_digest(first) != manifest_digest(second)
    event = AuditEvent.objects.get(workspace=round_trip.imported, action="workspace.imported")
    assert event.detail["digest"] == manifest_digest(first)
