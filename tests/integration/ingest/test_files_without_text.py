"""Files without text are documents that are found by their names."""

import pytest

from ingest.models import Unreadable
from ingest.parsers.registry import parser_version_for
from search.corpus import ensure_version
from search.corpus.content_ids import content_hash
from search.models import Document
from tests.support.actors import token_client
from tests.support.jobs import fill, sync
from tests.support.schemas import validate
from tests.support.search import ask, embed
from tests.support.search import sync as sync_mirror

DRAWING = b'<svg xmlns="http://www.w3.org/2000/svg"><path d="M0 0"/></svg>'
FILES = {
    "maps/harbour-bridge.svg": DRAWING,
    "blank pages.md": "\n\n",
    "src/empty_module.py": "\n",
    "walls.md": "# Harbour\n\nThe walls of the harbour.\n",
}


@pytest.fixture
def report(workspace, folder, source):
    fill(folder, FILES)
    report = sync(source)
    embed(workspace)
    sync_mirror(workspace)
    return report


@pytest.mark.parametrize("mode", ["lexical", "hybrid"])
def test_file_without_text_is_found_by_its_name(workspace, report, mode):
    for query, path in (("harbour bridge", "maps/harbour-bridge.svg"), ("blank pages", "blank pages.md")):
        hit = ask(workspace, query, mode).hits[0]
        assert (hit.doc_path, hit.citation.uri, hit.snippet) == (path, f"{path}#L1", "")
    assert ask(workspace, "empty_module", mode).hits[0].doc_path == "src/empty_module.py"


def test_report_counts_and_explains_files_without_text(report):
    validate("ingest_report.v1", report)
    assert (report["new"], report["skipped"], report["without_text"], report["chunks"]) == (4, 0, 3, 4)
    assert set(report["examples"]["no_text"]) == FILES.keys() - {"walls.md"}
    assert "requirements-ocr.txt" in report["explanations"]["no_text"]


def test_contexts_and_snippets_leave_out_files_without_text(workspace, source, report):
    client = token_client(workspace, "search")
    base = f"/api/v1/workspaces/{workspace.slug}"
    pack = client.post(f"{base}/context-pack", {"information_request": "harbour bridge"}, format="json")
    assert [file["doc_path"] for file in pack.json()["files"]] == ["walls.md"]
    source.refresh_from_db()
    found = client.get(f"{base}/libs/snippets", {"libraryId": source.library_id, "query": "harbour"})
    assert [snippet["text"] for snippet in found.json()["snippets"]] == ["The walls of the harbour."]


def test_file_that_was_refused_without_text_is_read(workspace, folder, source):
    fill(folder, {"harbour-bridge.svg": DRAWING})
    Unreadable.objects.create(
        workspace=workspace,
        version=ensure_version(source),
        path="harbour-bridge.svg",
        size_bytes=len(DRAWING),
        source_mtime_ns=(folder / "harbour-bridge.svg").stat().st_mtime_ns,
        content_hash=content_hash(DRAWING),
        parser_version=parser_version_for("harbour-bridge.svg"),
        is_quarantined=False,
        reason="no_text",
    )
    assert sync(source)["new"] == 1
    assert Document.objects.get().path == "harbour-bridge.svg"
    assert not Unreadable.objects.exists()
