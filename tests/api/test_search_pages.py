"""The pages of a search: nothing twice, nothing skipped, nothing that the caller may not see, whatever is
written meanwhile."""

import pytest

from search import paging
from search.corpus import delete_documents
from search.models import Document
from search.readback import Standing
from tests.support.actors import make_member, person_client, token_client
from tests.support.api import address
from tests.support.corpus import write

MODES = ["lexical", "vector", "hybrid"]
DOCUMENTS = 23


def fill(workspace):
    for number in range(DOCUMENTS):
        words = " ".join(["alpha"] * (number % 5 + 1))
        write(workspace, f"{number:02}.md", f"{words} beta gamma {number}", tags=("red", f"t{number}"))


@pytest.fixture
def workspace(filled):
    return filled


def turned(ask, page, **given):
    """The pages behind `page`, one after another."""
    while page["next_cursor"] is not None:
        page = ask(cursor=page["next_cursor"], **given)
        yield page


def hits_of(pages):
    return [hit for page in pages for hit in page["hits"]]


@pytest.mark.parametrize("mode", MODES)
def test_the_pages_together_are_the_list(ask, mode):
    whole = ask(q="alpha gamma", mode=mode, k=50)
    first = ask(q="alpha gamma", mode=mode, k=4)
    pages = [first, *turned(ask, first)]

    assert hits_of(pages) == whole["hits"]
    assert [len(page["hits"]) for page in pages] == [4, 4, 4, 4, 4, 3]
    assert [hit["rank"] for hit in hits_of(pages)] == list(range(1, DOCUMENTS + 1))
    said = ("query", "mode", "index_version", "seq", "lexical_total", "vector_window", "degraded")
    assert all([page[name] for name in said] == [first[name] for name in said] for page in pages)


@pytest.mark.parametrize(
    "asked",
    [{"fusion": "rrf"}, {"rerank": True}, {"cutoff": True}, {"per_file_cap": 1}, {"q": '"beta gamma" 7'}],
)
def test_the_pages_of_every_sort_of_list_together_are_the_list(ask, asked):
    asked = {"q": "alpha gamma", **asked}
    whole = ask(**asked, k=50)
    first = ask(**asked, k=4)
    pages = [first, *turned(ask, first)]

    assert len(whole["hits"]) > 4
    assert hits_of(pages) == whole["hits"]
    assert all(page["rerank"] == first["rerank"] for page in pages)


def test_a_page_by_get_is_the_page_by_post(ask, reader, workspace):
    cursor = ask(q="alpha", k=5)["next_cursor"]
    by_get = reader.get(address(workspace, "/search"), {"cursor": cursor}).json()

    assert by_get["hits"] == ask(cursor=cursor)["hits"]


def test_a_page_may_be_asked_for_again(ask):
    cursor = ask(q="alpha", k=5)["next_cursor"]
    once, again = ask(cursor=cursor), ask(cursor=cursor)

    assert (once["hits"], once["next_cursor"]) == (again["hits"], again["next_cursor"])


def test_snippets_and_highlights_are_as_on_the_first_page(ask):
    second = ask(cursor=ask(q="gamma", mode="lexical", k=3, snippet_chars=11)["next_cursor"])

    for hit in second["hits"]:
        ((start, end),) = hit["highlights"]
        assert hit["snippet"][start:end] == "gamma"
        assert len(hit["snippet"]) <= 11


@pytest.mark.parametrize("q", ["alpha 7", "omega", ""])
def test_without_more_hits_there_is_no_cursor(ask, q):
    assert ask(q=q, mode="lexical", k=50)["next_cursor"] is None


def test_k_is_how_many_hits_the_next_page_has(ask):
    first = ask(q="alpha", mode="lexical", k=3)
    second = ask(cursor=first["next_cursor"], k=7)
    third = ask(cursor=second["next_cursor"])

    assert [hit["rank"] for hit in second["hits"]] == [4, 5, 6, 7, 8, 9, 10]
    assert [hit["rank"] for hit in third["hits"]] == [11, 12, 13]


def delete(workspace, paths):
    documents = Document.objects.in_workspace(workspace).filter(path__in=paths)
    delete_documents(workspace, list(documents.values_list("doc_id", flat=True)))


@pytest.mark.parametrize("mode", MODES)
def test_what_was_deleted_vanishes_and_the_rest_keep_their_ranks(ask, workspace, mode):
    whole = ask(q="alpha", mode=mode, k=50)["hits"]
    first = ask(q="alpha", mode=mode, k=4)
    # One that was shown, two of the next page, the whole page behind it.
    gone = {whole[place]["doc_path"] for place in (1, 4, 6, 8, 9, 10, 11)}
    delete(workspace, gone)
    later = hits_of(turned(ask, first))

    assert later == [hit for hit in whole[4:] if hit["doc_path"] not in gone]
    assert [hit["rank"] for hit in later[:4]] == [6, 8, 13, 14]


def test_what_goes_while_a_page_is_made_leaves_its_place_empty(ask, workspace, monkeypatch):
    whole = ask(q="alpha", mode="lexical", k=50)["hits"]
    first = ask(q="alpha", mode="lexical", k=4)
    delete(workspace, {whole[5]["doc_path"]})
    monkeypatch.setattr(
        paging,
        "read_back",
        lambda scope, chunk_ids: Standing(documents=dict.fromkeys(chunk_ids, 1), similarities={}, places={}),
    )

    assert [hit["rank"] for hit in ask(cursor=first["next_cursor"])["hits"]] == [5, 7, 8]


def test_a_page_behind_which_all_is_deleted_is_the_last(ask, workspace):
    whole = ask(q="alpha", mode="lexical", k=50)["hits"]
    first = ask(q="alpha", mode="lexical", k=4)
    delete(workspace, {hit["doc_path"] for hit in whole[6:]})

    second = ask(cursor=first["next_cursor"])
    assert [hit["rank"] for hit in second["hits"]] == [5, 6]
    assert second["next_cursor"] is None


def test_nothing_is_left_when_all_is_deleted(ask, workspace):
    first = ask(q="alpha", k=4)
    delete(workspace, [f"{number:02}.md" for number in range(DOCUMENTS)])

    second = ask(cursor=first["next_cursor"])
    assert (second["hits"], second["next_cursor"]) == ([], None)


@pytest.mark.parametrize("mode", MODES)
def test_what_loses_the_tag_that_was_asked_for_vanishes(ask, workspace, mode):
    asked = {"q": "alpha", "mode": mode, "filters": {"tags_any": ["red"]}}
    whole = ask(**asked, k=50)["hits"]
    first = ask(**asked, k=4)
    gone = {whole[place]["doc_path"] for place in (0, 5, 7)}
    Document.objects.in_workspace(workspace).filter(path__in=gone).update(tags=["blue"])

    later = hits_of(turned(ask, first))
    assert later == [hit for hit in whole[4:] if hit["doc_path"] not in gone]


def test_all_filters_of_the_query_hold_on_every_page(ask, workspace):
    filters = {
        "tags_any": ["red"],
        "lang": ["en"],
        "path_glob": ["*.md"],
        "trust_min": "unknown",
        "source": ["docs"],
        "kind": ["info"],
        "media": ["text"],
        "ingested_after": "2001-01-01T00:00:00Z",
    }
    first = ask(q="alpha", mode="lexical", k=4, filters=filters)
    before = [hit["doc_path"] for hit in ask(cursor=first["next_cursor"])["hits"]]
    Document.objects.in_workspace(workspace).filter(path=before[0]).update(lang="de")
    Document.objects.in_workspace(workspace).filter(path=before[1]).update(media="pdf")
    Document.objects.in_workspace(workspace).filter(path=before[2]).update(path="moved.txt")

    assert ask(cursor=first["next_cursor"])["hits"][0]["doc_path"] == before[3]


def test_what_comes_meanwhile_moves_nothing(ask, workspace):
    whole = ask(q="alpha", mode="lexical", k=50)["hits"]
    first = ask(q="alpha", mode="lexical", k=4)
    for number in range(5):
        write(workspace, f"new{number}.md", "alpha " * 30)
    later = list(turned(ask, first))

    assert hits_of(later) == whole[4:]
    assert {page["seq"] for page in later} == {first["seq"]}
    assert {page["lag"] for page in later} == {first["lag"] + 5}


def test_a_document_that_was_rewritten_is_not_shown_twice(ask, workspace):
    whole = ask(q="alpha", mode="lexical", k=50)["hits"]
    first = ask(q="alpha", mode="lexical", k=4)
    write(workspace, whole[0]["doc_path"], "alpha " * 30)
    write(workspace, whole[9]["doc_path"], "alpha " * 30)

    later = hits_of(turned(ask, first))
    assert [hit["rank"] for hit in later] == [rank for rank in range(5, DOCUMENTS + 1) if rank != 10]


def test_a_capped_list_stays_capped(ask, workspace):
    write(workspace, "many.md", *(f"alpha {number}" for number in range(6)))
    first = ask(q="alpha", mode="hybrid", k=3, per_file_cap=1)
    hits = hits_of([first, *turned(ask, first)])

    assert len({hit["doc_path"] for hit in hits}) == len(hits)
    assert [hit["rank"] for hit in hits] == list(range(1, len(hits) + 1))


@pytest.mark.parametrize(
    "beside",
    [
        {"q": "alpha"},
        {"q": ""},
        {"mode": "lexical"},
        {"filters": {}},
        {"filters": {"lang": ["de"]}},
        {"channels": {"lexical": "a"}},
        {"min_seq": 1},
        {"explain": False},
        {"per_file_cap": 0},
        {"rerank": True},
        {"cutoff": True},
        {"why_not": "0" * 32},
    ],
)
def test_a_cursor_takes_no_other_query_beside_it(ask, refusal, beside):
    status, problem = refusal(cursor=ask(q="alpha", k=4)["next_cursor"], **beside)

    assert (status, problem["code"]) == (400, "invalid_request")
    assert problem["errors"][0]["field"] == next(iter(beside))


def test_a_cursor_takes_no_filter_beside_it_by_get(ask, reader, workspace):
    cursor = ask(q="alpha", k=4)["next_cursor"]
    response = reader.get(address(workspace, "/search"), {"cursor": cursor, "lang": "de"})

    assert (response.status_code, response.json()["errors"][0]["field"]) == (400, "lang")


def test_no_cursor_is_as_good_as_none(ask):
    assert ask(q="alpha", cursor=None)["hits"]


@pytest.mark.parametrize("k", [-1, "many"])
def test_a_wrong_k_beside_a_cursor_is_refused_by_its_name(ask, refusal, k):
    status, problem = refusal(cursor=ask(q="alpha", k=4)["next_cursor"], k=k)

    assert (status, problem["errors"][0]["field"]) == (400, "k")


def changed(cursor):
    raw = bytearray.fromhex(cursor)
    raw[0] ^= 1
    return raw.hex()


def test_one_who_was_not_given_the_cursor_finds_what_a_late_one_finds(
    ask, refusal, workspace, other_workspace, store
):
    cursor = ask(q="alpha", k=4)["next_cursor"]
    stranger = token_client(other_workspace, "search")
    answers = [
        refusal(token_client(workspace, "search"), cursor=cursor),
        refusal(person_client(make_member(workspace)), cursor=cursor),
        refusal(stranger, of=other_workspace, cursor=cursor),
        refusal(cursor=changed(cursor)),
        refusal(cursor="nonsense"),
        refusal(cursor="ü"),
        refusal(cursor=f"x{cursor}"),
    ]
    assert ask(cursor=cursor)["hits"]
    store.delete(*store.keys(f"kebab:cursor:{workspace.pk.hex}:*"))
    answers.append(refusal(cursor=cursor))

    assert {status for status, _ in answers} == {410}
    assert {problem["code"] for _, problem in answers} == {"stale_cursor"}
    assert len({repr(problem) for _, problem in answers}) == 1


def test_a_person_turns_pages_in_every_session_of_theirs(workspace):
    user = make_member(workspace)
    first = person_client(user).get(address(workspace, "/search"), {"q": "alpha", "k": 4}).json()
    response = person_client(user).get(address(workspace, "/search"), {"cursor": first["next_cursor"]})

    assert response.status_code == 200
