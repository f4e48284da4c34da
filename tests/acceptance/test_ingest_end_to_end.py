import pytest

from tests.acceptance import schemas
from tests.acceptance.notes import write_notes

_COUNTS = ("seen", "new", "updated", "unchanged", "skipped", "failed", "deleted")


@pytest.fixture
def notes(tmp_path):
    return write_notes(tmp_path)


@pytest.fixture
def own_client(make_client):
    return make_client()


@pytest.fixture
def ingest(own_client, run_command, notes):
    def run() -> dict:
        report = run_command("ingest", str(notes), "--workspace", own_client.slug)
        schemas.check(report, "ingest_report.v1")
        assert report["state"] == "succeeded"
        return report

    return run


def counts(report: dict) -> dict[str, int]:
    return {name: report[name] for name in _COUNTS if report[name]}


@pytest.mark.slow
def test_second_run_changes_nothing(ingest):
    assert counts(ingest()) == {"seen": 5, "new": 5}
    again = ingest()
    assert counts(again) == {"seen": 5, "unchanged": 5}
    assert (again["parser_calls"], again["embedding_calls"]) == (0, 0)


def test_report_counts_edits_deletions_and_renames(ingest, own_client, notes):
    ingest()
    (notes / "harbour.md").write_text("# The harbour\n\nIt has silted up.\n")
    (notes / "lantern.md").unlink()
    (notes / "orchard.md").rename(notes / "garden.md")
    (notes / "picture.bin").write_bytes(bytes(range(256)))
    report = ingest()
    assert counts(report) == {"seen": 5, "new": 1, "updated": 1, "unchanged": 2, "skipped": 1, "deleted": 2}
    assert sum(report["skipped_by_reason"].values()) == 1
    found = own_client.search("silted", mode="lexical", min_seq=report["seq"])
    assert [hit["doc_path"] for hit in found["hits"]] == ["harbour.md"]
    paths = {document["path"] for document in own_client.get("/documents")["results"]}
    assert paths == {"harbour.md", "garden.md", "glacier.md", "compass.md"}


@pytest.mark.slow
def test_renamed_documents_are_not_embedded_again(ingest, notes):
    first = ingest()
    assert first["embedding_calls"] > 0
    (notes / "compass.md").rename(notes / "north.md")
    assert ingest()["embedding_calls"] == 0
