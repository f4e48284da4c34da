import pytest

from tests.acceptance import schemas
from tests.support.stack import eventually

_DOCUMENTS = 20
_MODES = ("lexical", "vector", "hybrid")


@pytest.fixture(scope="module")
def reader(make_client):
    """Return a client in a workspace of twenty notes about larks, tagged and embedded."""
    client = make_client()
    uploads = []
    for number in range(_DOCUMENTS):
        text = f"# Note {number}\n\nHere is a{' lark' * (number % 4 + 1)} number {number}.\n"
        document = {"path": f"{number:02}.md", "text": text, "tags": ["birds"]}
        uploads.append(client.request("POST", "/documents", json=document))
    for upload in uploads:
        await_change(client, upload)
    client.search("lark", min_seq=_DOCUMENTS)
    eventually(lambda: count_hits(client, mode="vector") == _DOCUMENTS, "all notes have their vectors")
    return client


def count_hits(client, **parameters):
    return len(client.search("lark", k=50, **parameters)["hits"])


def await_change(client, answer):
    """Wait until the job of an accepted change has succeeded."""
    assert answer.status_code == 202, answer.text
    *_, (_, end) = client.events(answer.json()["job"]["id"])
    assert end["state"] == "succeeded"


def later_hits(client, page):
    while page["next_cursor"] is not None:
        page = client.fetch_page(page["next_cursor"])
        schemas.check(page, "search_response.v1")
        yield from page["hits"]


def test_pages_repeat_and_skip_nothing_while_documents_change(reader):
    requests = {mode: {"mode": mode, "filters": {"tags_any": ["birds"]}} for mode in _MODES}
    whole = {mode: reader.search("lark", k=50, **requests[mode])["hits"] for mode in _MODES}
    first = {mode: reader.search("lark", k=6, **requests[mode]) for mode in _MODES}
    lexical = whole["lexical"]
    shown, deleted, retagged = lexical[0], lexical[7], lexical[12]
    for hit in (shown, deleted):
        assert reader.request("DELETE", f"/documents/{hit['doc_id']}").status_code == 204
    await_change(reader, reader.request("PATCH", f"/documents/{retagged['doc_id']}", json={"tags": ["bats"]}))
    better = {"path": "better.md", "text": "# Lark\n\nLark, lark, lark.\n", "tags": ["birds"]}
    await_change(reader, reader.request("POST", "/documents", json=better))

    gone = {hit["chunk_id"] for hit in (shown, deleted, retagged)}
    for mode in _MODES:
        assert first[mode]["hits"] == whole[mode][:6]
        later = list(later_hits(reader, first[mode]))
        assert later == [hit for hit in whole[mode][6:] if hit["chunk_id"] not in gone]
    assert "better.md" in {hit["doc_path"] for hit in reader.search("lark", k=50)["hits"]}


@pytest.mark.slow
def test_cursor_rejects_filters_and_other_workspaces(reader, make_client):
    first = reader.search("lark", k=6)
    other = make_client()
    refiltered = reader.request(
        "POST", "/search", json={"cursor": first["next_cursor"], "filters": {"lang": ["de"]}}
    )
    foreign = other.request("POST", "/search", json={"cursor": first["next_cursor"]})
    nothing = other.request("POST", "/search", json={"cursor": "0" * len(first["next_cursor"])})

    assert refiltered.status_code == 400
    assert foreign.status_code == nothing.status_code == 410
    assert foreign.json() == nothing.json()
