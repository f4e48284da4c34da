"""Documents, their bytes and their chunks over HTTP."""

import uuid

import pytest
from django.core.files.storage import default_storage

from kebab.identity.reader import Reader
from search.api.querysets import use_document_bytes
from search.corpus.blobs import blob_name, read_blob, store_blob
from search.models import Document
from tests.api.refusals import refusal_of
from tests.support.api import address
from tests.support.corpus import chunk, write
from tests.support.schemas import validate

CONTENT = "# Übersicht\n<script>alert(1)</script>\n".encode()


@pytest.fixture
def document(workspace):
    parts = [f"part {number}" for number in range(5)]
    written = write(
        workspace,
        "guides/Über uns.md",
        *parts,
        content_hash=store_blob(workspace.pk, CONTENT),
        tags=("a", "b"),
        trust_level="primary",
        overrides={"title": "Guide"},
        metadata={"author": "somebody"},
    )
    return Document.objects.in_workspace(workspace).get(doc_id=written.doc_id)


def document_address(workspace, document, tail=""):
    return address(workspace, f"/documents/{document.doc_id.hex}{tail}")


def test_document_has_all_its_fields(reader, workspace, document):
    body = reader.get(document_address(workspace, document)).json()
    assert body == {
        "id": document.doc_id.hex,
        "path": "guides/Über uns.md",
        "title": "Guide",
        "source": "docs",
        "source_id": str(document.source_id),
        "version": None,
        "lang": "en",
        "tags": ["a", "b"],
        "trust_level": "primary",
        "mime": "text/markdown",
        "media": "text",
        "size_bytes": document.size_bytes,
        "content_hash": document.content_hash,
        "chunk_count": 5,
        "overrides": {"title": "Guide"},
        "metadata": {"author": "somebody"},
        "omissions": [],
        "parser_version": "p1",
        "chunker_version": "c1",
        "indexed_at": body["indexed_at"],
        "date": body["indexed_at"],
        "author": "somebody",
    }
    assert body["indexed_at"].endswith("Z")
    document.omissions = {"hidden_rows": {"amount": 4, "where": ["sheet 2"]}}
    document.save()
    (omission,) = reader.get(document_address(workspace, document)).json()["omissions"]
    assert omission == {
        "kind": "hidden_rows",
        "amount": 4,
        "unit": "rows",
        "is_on_purpose": True,
        "where": ["sheet 2"],
        "message": omission["message"],
    }
    written = write(workspace, "a.md", "text", version="2.0")
    body = reader.get(address(workspace, f"/documents/{written.doc_id.hex}")).json()
    assert (body["version"], body["author"]) == ("2.0", None)


def test_content_is_served_unchanged_for_saving_only(reader, workspace, document):
    path = document_address(workspace, document, "/content")
    response = reader.get(path)
    assert b"".join(response.streaming_content) == CONTENT
    assert response.headers["Content-Type"] == "text/markdown; charset=utf-8"
    assert response.headers["Content-Disposition"] == "attachment; filename*=utf-8''%C3%9Cber%20uns.md"
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in response.headers["Content-Security-Policy"]
    assert response.headers["Content-Length"] == str(len(CONTENT))
    assert response.headers["ETag"] == f'"{document.content_hash}"'

    again = reader.get(path, headers={"If-None-Match": response.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["ETag"] == response.headers["ETag"]

    head = reader.head(path)
    b"".join(head.streaming_content)
    assert (head.status_code, head.headers["Content-Length"]) == (200, str(len(CONTENT)))
    assert head.headers["ETag"] == response.headers["ETag"]


def test_content_types_that_browsers_run_are_replaced(reader, workspace, document):
    for mime, served in (
        ("text/csv", "text/csv; charset=utf-8"),
        ("text/html", "text/plain; charset=utf-8"),
        ("text/javascript", "text/plain; charset=utf-8"),
        ("application/pdf", "application/octet-stream"),
        ("image/svg+xml", "application/octet-stream"),
        ("text/html\r\nX: y", "application/octet-stream"),
    ):
        Document.objects.in_workspace(workspace).update(mime=mime)
        response = reader.get(document_address(workspace, document, "/content"))
        b"".join(response.streaming_content)
        assert response.headers["Content-Type"] == served, mime


def test_missing_bytes_are_not_found(reader, workspace):
    written = write(workspace, "a.md", "text")
    response = reader.get(address(workspace, f"/documents/{written.doc_id.hex}/content"))
    assert refusal_of(response) == (404, "not_found", None)


def test_document_replaced_while_read_is_read_again(workspace, document):
    seen = []

    def read(found: Document) -> bytes:
        if not seen:
            seen.append(found.content_hash)
            Document.objects.in_workspace(workspace).update(content_hash=store_blob(workspace.pk, b"new"))
            default_storage.delete(blob_name(workspace.pk, found.content_hash))
        return read_blob(workspace.pk, found.content_hash)

    assert use_document_bytes(workspace, Reader(), document.doc_id, read) == b"new"
    assert seen == [document.content_hash]


def test_chunks_are_listed_by_page_in_order(reader, workspace, document):
    path = document_address(workspace, document, "/chunks")
    first = reader.get(f"{path}?limit=3").json()
    second = reader.get(f"{path}?limit=3&cursor={first['next_cursor']}").json()
    rows = first["results"] + second["results"]

    assert [row["text"] for row in rows] == [f"part {number}" for number in range(5)]
    assert [row["ordinal"] for row in rows] == list(range(5))
    assert second["next_cursor"] is None
    assert rows[1]["spans"] == [{"kind": "line", "start": 11, "end": 19}]
    assert rows[1]["breadcrumb"] == "Guide"
    assert rows[1]["citation"]["uri"] == "guides/Über uns.md#L11-L19"
    for row in rows:
        validate("citation.v1", row["citation"])


def test_chunk_has_its_neighbours_within_the_document(reader, workspace, document):
    chunks = reader.get(document_address(workspace, document, "/chunks")).json()["results"]
    path = address(workspace, f"/chunks/{chunks[1]['id']}")

    def around(query):
        body = reader.get(f"{path}{query}").json()
        assert (body["text"], body["doc_id"]) == ("part 1", document.doc_id.hex)
        return [[row["text"] for row in body[side]] for side in ("before", "after")]

    assert around("") == around("?context=0") == [[], []]
    assert around("?context=1") == [["part 0"], ["part 2"]]
    assert around("?context=2") == [["part 0"], ["part 2", "part 3"]]
    neighbour = reader.get(f"{path}?context=1").json()["after"][0]
    assert neighbour["citation"]["uri"] == "guides/Über uns.md#L21-L29"

    other = write(workspace, "b.md", chunk("alone", 1))
    (row,) = reader.get(address(workspace, f"/documents/{other.doc_id.hex}/chunks")).json()["results"]
    body = reader.get(address(workspace, f"/chunks/{row['id']}?context=20")).json()
    assert (body["before"], body["after"]) == ([], [])


def test_wrong_parameter_is_refused_by_its_field(reader, workspace, document):
    chunk_id = reader.get(document_address(workspace, document, "/chunks")).json()["results"][0]["id"]
    for context in ("-1", "21", "x"):
        response = reader.get(address(workspace, f"/chunks/{chunk_id}?context={context}"))
        assert refusal_of(response) == (400, "invalid_request", "context")
    for tail, field in (("?y=1", "y"), ("/content?y=1", "y"), ("/chunks?context=1", "context")):
        response = reader.get(document_address(workspace, document, tail))
        assert refusal_of(response) == (400, "unknown_field", field)


def test_malformed_id_looks_like_a_missing_one(reader, workspace):
    missing = reader.get(address(workspace, f"/documents/{uuid.uuid4().hex}"))
    for wrong in ("x", uuid.uuid4().hex.upper(), str(uuid.uuid4())):
        response = reader.get(address(workspace, f"/documents/{wrong}"))
        assert (response.status_code, response.content) == (404, missing.content)


def test_documents_are_listed_by_page(reader, workspace):
    for number in range(5):
        write(workspace, f"{number}.md", "text")
    first = reader.get(address(workspace, "/documents?limit=3")).json()
    second = reader.get(address(workspace, f"/documents?limit=3&cursor={first['next_cursor']}")).json()

    assert [row["path"] for row in first["results"] + second["results"]] == [f"{n}.md" for n in range(5)]
    assert second["next_cursor"] is None


def test_documents_are_listed_in_the_order_asked_for(reader, workspace, subtests):
    for path, date in (("c.md", "2024-03-05"), ("a.md", "2024-03-05"), ("b.md", "2020-01-01")):
        write(workspace, path, "text", metadata={"date": date})
    for query, expected in (
        ("", "cab"),
        ("order=path&", "abc"),
        ("order=date&", "bca"),
        ("order=-date&", "acb"),
    ):
        with subtests.test(query=query):
            page = reader.get(address(workspace, f"/documents?{query}limit=1")).json()
            rows = page["results"]
            while cursor := page["next_cursor"]:
                page = reader.get(address(workspace, f"/documents?{query}limit=1&cursor={cursor}")).json()
                rows += page["results"]
            assert [row["path"][0] for row in rows] == list(expected)
    assert rows[-1]["date"] == "2020-01-01T00:00:00Z"
    write(workspace, "a10.md", "text")
    write(workspace, "a9.md", "text")
    listed = reader.get(address(workspace, "/documents?order=path")).json()["results"]
    assert [row["path"] for row in listed] == ["a.md", "a9.md", "a10.md", "b.md", "c.md"]
    refused = reader.get(address(workspace, "/documents?order=size"))
    assert refusal_of(refused) == (400, "invalid_request", "order")


def test_list_of_documents_is_filtered(reader, workspace, subtests):
    write(workspace, "a/1.md", "text")
    write(workspace, "a/2.md", "text", version="2.0")
    write(workspace, "b/1.md", "text", source="notes")
    write(workspace, "a_b.md", "text")
    notes = Document.objects.in_workspace(workspace).get(path="b/1.md").source_id
    for query, expected in (
        ("", {"a/1.md", "a/2.md", "b/1.md", "a_b.md"}),
        ("?path_prefix=a/", {"a/1.md", "a/2.md"}),
        ("?path_prefix=a_", {"a_b.md"}),
        ("?source=notes", {"b/1.md"}),
        (f"?source={notes}", {"b/1.md"}),
        ("?source=notes&source=docs", {"a/1.md", "a/2.md", "b/1.md", "a_b.md"}),
        ("?source=nowhere", set()),
        ("?version=2.0", {"a/2.md"}),
        ("?version=", {"a/1.md", "b/1.md", "a_b.md"}),
        ("?version=2.0&path_prefix=b", set()),
    ):
        with subtests.test(query=query):
            rows = reader.get(address(workspace, f"/documents{query}")).json()["results"]
            assert {row["path"] for row in rows} == expected
