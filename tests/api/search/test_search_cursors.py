"""Cursors of a search: pages show no hit twice, skip none and show none that the caller may not see."""

import pytest

from kebab.identity.models import Workspace
from kebab.people.operator import command_line_access
from kebab.people.workspaces import delete_workspace
from search.corpus import delete_documents
from search.engine import pages as paging
from search.engine.ranking_snapshot import ResultSnapshot
from search.models import Document
from tests.api.refusals import refusal_of
from tests.support.actors import make_member, person_client, token_client
from tests.support.api import address
from tests.support.corpus import write
from tests.support.runtime import renew_runtime

MODES = ["lexical", "vector", "hybrid"]
DOCUMENTS = 23


def fill(workspace):
    for number in range(DOCUMENTS):
        words = " ".join(["alpha"] * (number % 5 + 1))
        write(workspace, f"{number:02}.md", f"{words} beta gamma {number}", tags=("red", f"t{number}"))


@pytest.fixture
def workspace(filled):
    return filled


@pytest.fixture
def send(reader, workspace):
    """Post a search as the reader, or as another client in another workspace."""

    def send(client=None, of=None, **given):
        return (client or reader).post(address(of or workspace, "/search"), given, format="json")

    return send


@pytest.fixture
def no_redis(settings, tmp_path):
    renew_runtime()
    settings.REDIS_URL = f"unix://{tmp_path}/nothing.sock"
    yield
    renew_runtime()


def later_pages(ask, page, **given):
    """Yield the pages after `page`, one after another."""
    while page["next_cursor"] is not None:
        page = ask(cursor=page["next_cursor"], **given)
        yield page


def hits_of(pages):
    return [hit for page in pages for hit in page["hits"]]


def delete(workspace, paths):
    documents = Document.objects.in_workspace(workspace).filter(path__in=paths)
    delete_documents(workspace, list(documents.values_list("doc_id", flat=True)))


@pytest.mark.parametrize("mode", MODES)
def test_pages_concatenate_to_the_full_list(ask, mode):
    whole = ask(q="alpha gamma", mode=mode, k=50)
    first = ask(q="alpha gamma", mode=mode, k=4)
    pages = [first, *later_pages(ask, first)]

    assert hits_of(pages) == whole["hits"]
    assert [len(page["hits"]) for page in pages] == [4, 4, 4, 4, 4, 3]
    assert [hit["rank"] for hit in hits_of(pages)] == list(range(1, DOCUMENTS + 1))
    fields = ("query", "mode", "index_version", "seq", "lexical_total", "vector_window", "degraded")
    assert all([page[name] for name in fields] == [first[name] for name in fields] for page in pages)


def test_later_page_has_the_query_as_typed_and_as_corrected(ask):
    first = ask(q="gamna", mode="lexical", k=20)
    second = ask(cursor=first["next_cursor"])
    assert (first["query"], first["corrected_query"]) == ("gamna", "gamma")
    assert (second["query"], second["corrected_query"]) == ("gamna", "gamma")
    assert second["hits"][0]["highlights"]


def test_pages_of_every_kind_of_list_together_are_the_list(ask, subtests):
    for given in (
        {"fusion": "rrf"},
        {"rerank": True},
        {"cutoff": True},
        {"per_file_cap": 1},
        {"q": '"beta gamma" 7'},
    ):
        with subtests.test(given=given):
            asked = {"q": "alpha gamma", **given}
            whole = ask(**asked, k=50)
            first = ask(**asked, k=4)
            pages = [first, *later_pages(ask, first)]
            assert len(whole["hits"]) > 4
            assert hits_of(pages) == whole["hits"]
            assert all(page["rerank"] == first["rerank"] for page in pages)


def test_page_may_be_asked_for_again_and_by_get(ask, reader, workspace):
    cursor = ask(q="alpha", k=5)["next_cursor"]
    once, again = ask(cursor=cursor), ask(cursor=cursor)
    by_get = reader.get(address(workspace, "/search"), {"cursor": cursor}).json()

    assert (once["hits"], once["next_cursor"]) == (again["hits"], again["next_cursor"])
    assert by_get["hits"] == once["hits"]
    assert ask(q="alpha", cursor=None)["hits"]


def test_snippets_and_highlights_are_as_on_the_first_page(ask):
    second = ask(cursor=ask(q="gamma", mode="lexical", k=3, snippet_chars=11)["next_cursor"])
    assert len(second["hits"]) == 3
    for hit in second["hits"]:
        ((start, end),) = hit["highlights"]
        assert hit["snippet"][start:end] == "gamma"
        assert len(hit["snippet"]) <= 11


def test_last_page_is_without_a_cursor(ask):
    for q in ("alpha 7", "omega", ""):
        assert ask(q=q, mode="lexical", k=50)["next_cursor"] is None


def test_k_beside_a_cursor_sets_the_size_of_the_next_page(ask):
    first = ask(q="alpha", mode="lexical", k=3)
    second = ask(cursor=first["next_cursor"], k=7)
    third = ask(cursor=second["next_cursor"])

    assert [hit["rank"] for hit in second["hits"]] == [4, 5, 6, 7, 8, 9, 10]
    assert [hit["rank"] for hit in third["hits"]] == [11, 12, 13]


@pytest.mark.parametrize("mode", MODES)
def test_deleted_hits_vanish_and_the_rest_keep_their_ranks(ask, workspace, mode):
    whole = ask(q="alpha", mode=mode, k=50)["hits"]
    first = ask(q="alpha", mode=mode, k=4)
    # One that was shown, two of the next page, the whole page behind it.
    gone = {whole[place]["doc_path"] for place in (1, 4, 6, 8, 9, 10, 11)}
    delete(workspace, gone)
    later = hits_of(later_pages(ask, first))

    assert later == [hit for hit in whole[4:] if hit["doc_path"] not in gone]
    assert [hit["rank"] for hit in later[:4]] == [6, 8, 13, 14]


def test_hit_deleted_while_its_page_is_made_leaves_a_gap(ask, workspace, monkeypatch):
    whole = ask(q="alpha", mode="lexical", k=50)["hits"]
    first = ask(q="alpha", mode="lexical", k=4)
    delete(workspace, {whole[5]["doc_path"]})
    monkeypatch.setattr(paging, "read_documents", lambda scope, chunk_ids: dict.fromkeys(chunk_ids, 1))

    assert [hit["rank"] for hit in ask(cursor=first["next_cursor"])["hits"]] == [5, 7, 8]


def test_page_is_without_a_cursor_when_all_later_hits_are_deleted(ask, workspace):
    whole = ask(q="alpha", mode="lexical", k=50)["hits"]
    cursor = ask(q="alpha", mode="lexical", k=4)["next_cursor"]
    delete(workspace, {hit["doc_path"] for hit in whole[6:]})
    second = ask(cursor=cursor)
    assert ([hit["rank"] for hit in second["hits"]], second["next_cursor"]) == ([5, 6], None)

    delete(workspace, [f"{number:02}.md" for number in range(DOCUMENTS)])
    empty = ask(cursor=cursor)
    assert (empty["hits"], empty["next_cursor"]) == ([], None)


@pytest.mark.parametrize("mode", MODES)
def test_hit_that_loses_its_tag_vanishes(ask, workspace, mode):
    asked = {"q": "alpha", "mode": mode, "filters": {"tags_any": ["red"]}}
    whole = ask(**asked, k=50)["hits"]
    first = ask(**asked, k=4)
    gone = {whole[place]["doc_path"] for place in (0, 5, 7)}
    Document.objects.in_workspace(workspace).filter(path__in=gone).update(tags=["blue"])

    later = hits_of(later_pages(ask, first))
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


def test_later_documents_do_not_move_the_list(ask, workspace):
    whole = ask(q="alpha", mode="lexical", k=50)["hits"]
    first = ask(q="alpha", mode="lexical", k=4)
    for number in range(5):
        write(workspace, f"new{number}.md", "alpha " * 30)
    later = list(later_pages(ask, first))

    assert hits_of(later) == whole[4:]
    assert {page["seq"] for page in later} == {first["seq"]}
    assert {page["lag"] for page in later} == {first["lag"] + 5}


def test_rewritten_document_is_not_shown_twice(ask, workspace):
    whole = ask(q="alpha", mode="lexical", k=50)["hits"]
    first = ask(q="alpha", mode="lexical", k=4)
    write(workspace, whole[0]["doc_path"], "alpha " * 30)
    write(workspace, whole[9]["doc_path"], "alpha " * 30)

    later = hits_of(later_pages(ask, first))
    assert [hit["rank"] for hit in later] == [rank for rank in range(5, DOCUMENTS + 1) if rank != 10]


def test_capped_list_stays_capped(ask, workspace):
    write(workspace, "many.md", *(f"alpha {number}" for number in range(6)))
    first = ask(q="alpha", mode="hybrid", k=3, per_file_cap=1)
    hits = hits_of([first, *later_pages(ask, first)])

    assert len({hit["doc_path"] for hit in hits}) == len(hits)
    assert [hit["rank"] for hit in hits] == list(range(1, len(hits) + 1))


def test_cursor_with_other_query_parameters_is_refused(ask, send, reader, workspace, subtests):
    cursor = ask(q="alpha", k=4)["next_cursor"]
    for beside in (
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
    ):
        with subtests.test(beside=beside):
            assert refusal_of(send(cursor=cursor, **beside)) == (400, "invalid_request", next(iter(beside)))
    by_get = reader.get(address(workspace, "/search"), {"cursor": cursor, "lang": "de"})
    assert refusal_of(by_get) == (400, "invalid_request", "lang")
    for k, code in ((-1, "invalid_query"), ("many", "invalid_request")):
        assert refusal_of(send(cursor=cursor, k=k)) == (400, code, "k")


def test_foreign_cursor_looks_like_an_expired_one(ask, send, workspace, other_workspace, store):
    cursor = ask(q="alpha", k=4)["next_cursor"]
    changed = bytes([bytes.fromhex(cursor)[0] ^ 1]).hex() + cursor[2:]
    answers = [
        send(token_client(workspace, "search"), cursor=cursor),
        send(person_client(make_member(workspace)), cursor=cursor),
        send(token_client(other_workspace, "search"), of=other_workspace, cursor=cursor),
        *(send(cursor=wrong) for wrong in (changed, "nonsense", "ü", f"x{cursor}")),
    ]
    assert ask(cursor=cursor)["hits"]
    store.delete(*store.keys(f"kebab:cursor:{workspace.pk.hex}:*"))
    answers.append(send(cursor=cursor))

    assert {refusal_of(answer) for answer in answers} == {(410, "stale_cursor", None)}
    assert len({answer.content for answer in answers}) == 1


def test_cursor_holds_in_every_session_of_a_person(workspace):
    user = make_member(workspace)
    first = person_client(user).get(address(workspace, "/search"), {"q": "alpha", "k": 4}).json()
    response = person_client(user).get(address(workspace, "/search"), {"cursor": first["next_cursor"]})
    assert response.status_code == 200


def test_stored_list_expires_fifteen_minutes_after_its_last_use(ask, workspace, store):
    pattern = f"kebab:cursor:{workspace.pk.hex}:*"
    store.delete(*store.keys(pattern), "nothing")
    cursors = {ask(q="alpha", k=4)["next_cursor"] for _ in range(2)}
    (name,) = store.keys(pattern)
    assert len(cursors) == 1

    assert store.ttl(name) >= 15 * 60
    store.expire(name, 5)
    ask(cursor=cursors.pop())
    assert store.ttl(name) >= 15 * 60
    store.expire(name, 5)
    ask(q="alpha", k=4)
    assert store.ttl(name) >= 15 * 60

    frozen = ResultSnapshot.from_bytes(store.get(name))
    assert frozen.result.hits == ()
    assert "beta" not in repr(frozen)


def test_stored_list_with_an_unknown_filter_value_is_answered_410(ask, send, workspace, store):
    pattern = f"kebab:cursor:{workspace.pk.hex}:*"
    store.delete(*store.keys(pattern), "nothing")
    cursor = ask(q="alpha", k=4, filters={"kind": ["info"]})["next_cursor"]
    (name,) = store.keys(pattern)
    store.set(name, store.get(name).replace(b'["info"]', b'["xnfo"]'))
    assert send(cursor=cursor).status_code == 410


def test_deleting_a_workspace_deletes_only_its_stored_lists(
    ask, workspace, other_workspace, store, django_capture_on_commit_callbacks
):
    cursor = ask(q="alpha", k=4)["next_cursor"]
    key = f"kebab:cursor:{other_workspace.pk.hex}:token:1:00"
    store.set(key, b"")
    with django_capture_on_commit_callbacks(execute=True):
        delete_workspace(command_line_access(other_workspace))

    assert not store.exists(key)
    assert ask(cursor=cursor)["hits"]


def test_search_beyond_the_callers_cursor_storage_is_without_a_cursor(ask, settings):
    settings.KEBAB_CURSOR_LIMIT_BYTES = 10
    page = ask(q="alpha beta", k=4)

    assert (len(page["hits"]), page["next_cursor"], len(page["warnings"])) == (4, None, 1)


def test_search_works_without_redis_and_without_a_cursor(
    ask, send, other_workspace, no_redis, django_capture_on_commit_callbacks
):
    page = ask(q="alpha", k=4)
    assert (len(page["hits"]), page["next_cursor"]) == (4, None)
    assert any("Redis" in warning for warning in page["warnings"])
    assert refusal_of(send(cursor=bytes(18).hex())) == (503, "redis_unavailable", None)

    with django_capture_on_commit_callbacks(execute=True):
        delete_workspace(command_line_access(other_workspace))
    assert not Workspace.objects.filter(slug=other_workspace.slug).exists()
