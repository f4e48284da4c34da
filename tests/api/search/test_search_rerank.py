"""Reranked searches over HTTP, with stubs that score well and stubs that fail."""

import pytest

from kebab.identity.models import Workspace
from search.models import Chunk
from tests.integration.search.rerank.behaviours import FAILURES, results, tei
from tests.support.api import address
from tests.support.corpus import write
from tests.support.http_stub import closed_port, serving
from tests.support.runtime import renew_runtime

NAMES = ("apple", "banana", "cherry", "damson", "elder")
SHUFFLED = ["hidden/one.md", "elder.md", "damson.md", "cherry.md", "banana.md", "apple.md"]


def fill(workspace):
    for place, name in enumerate(NAMES):
        write(workspace, f"{name}.md", f"delta {'delta ' * (5 - place)} of {name}")
    write(workspace, "long.md", *(f"omega {'omega ' * (8 - n)} part {n}" for n in range(8)))
    write(workspace, "hidden/one.md", "delta delta delta delta secretly", tags=("hidden",))


@pytest.fixture
def workspace(filled):
    return filled


@pytest.fixture
def use(settings):
    """Return a function that makes searches of one test use the reranker at a URL."""

    def set_(url, kind="tei", *, limit_ms=60_000, model="m"):
        settings.KEBAB_RERANKER = kind
        settings.KEBAB_RERANK_URL = url
        settings.KEBAB_RERANK_MODEL = model
        settings.KEBAB_RERANK_LIMIT_MS = limit_ms
        renew_runtime()

    yield set_
    renew_runtime()


@pytest.fixture
def ask(reader, workspace):
    """Return a function that searches and returns the body of a 200 response."""

    def post(q="delta", **given):
        given = {"q": q, "mode": "lexical", "rerank": True, **given}
        response = reader.post(address(workspace, "/search"), given, format="json")
        assert response.status_code == 200, response.content
        return response.json()

    return post


def paths(body):
    return [hit["doc_path"] for hit in body["hits"]]


def last_letters_first(passage):
    """Return a score that reverses the lexical order: a.md last, e.md first."""
    return (ord(passage.rpartition(" ")[2][0]) - ord("a")) / 10


def test_reranker_of_every_kind_orders_the_hits(ask, use, subtests):
    halved = results(lambda passage: last_letters_first(passage) / 2)
    kinds = {"tei": tei(last_letters_first), "jina": halved, "cohere": halved, "siliconflow": halved}
    for kind, behaviour in kinds.items():
        with subtests.test(kind=kind):
            with serving(behaviour) as stub:
                use(stub.url, kind)
                body = ask()
            assert paths(body) == SHUFFLED
            assert body["rerank"] == {"status": "ok", "reason": None}
            scores = [hit["score"] for hit in body["hits"]]
            assert scores == sorted(scores, reverse=True)
            assert all(0 <= score <= 1 for score in scores)
            for rank, hit in enumerate(body["hits"], start=1):
                detail = hit["retrieval"]
                assert hit["rank"] == detail["rerank_rank"] == rank
                assert hit["score"] == detail["rerank_score"] != detail["fusion_score"]


def test_failed_reranker_falls_back_to_the_fused_order(ask, use, caplog, subtests):
    """Cover the limit, a status and a wrong body; the reranker's own tests cover every failure."""
    fused = ask(rerank=False)
    for failure, limit_ms in {"hangs": 100, "500": 60_000, "garbage": 60_000, "too few": 60_000}.items():
        with subtests.test(failure=failure):
            caplog.clear()
            with serving(FAILURES[failure]) as stub:
                use(stub.url, limit_ms=limit_ms)
                body = ask()
            assert (body["rerank"]["status"], body["hits"]) == ("fallback", fused["hits"])
            assert "127.0.0.1" not in body["rerank"]["reason"]
            assert caplog.records
            assert "delta" not in caplog.text


def test_missing_reranker_falls_back_to_the_fused_order(ask, use, subtests):
    fused = ask(rerank=False)
    closed = f"http://127.0.0.1:{closed_port()}"
    for kind, url in (("none", ""), ("tei", closed), ("tei", ""), ("nonsense", ""), ("local", "")):
        with subtests.test(kind=kind, url=url):
            use(url, kind)
            body = ask()
            assert (body["hits"], body["rerank"]["status"]) == (fused["hits"], "fallback")
            assert body["rerank"]["reason"]


def test_reranker_is_not_asked_after_three_failures(ask, use):
    with serving(FAILURES["500"]) as stub:
        use(stub.url)
        reasons = [ask()["rerank"]["reason"] for _ in range(6)]

    assert len(stub.requests) == 3
    assert len(set(reasons[:3])) == 1
    assert not set(reasons[:3]) & set(reasons[3:])


def test_reranker_is_asked_only_for_hits_and_only_on_request(ask, use):
    with serving(tei(last_letters_first)) as stub:
        use(stub.url)
        plain, empty = ask(rerank=False), ask("nothingofthekind")

    assert plain["rerank"] is None
    assert (empty["hits"], empty["rerank"]["status"], stub.requests) == ([], "ok", [])


def test_reranker_reads_its_channel_and_passages_with_breadcrumbs(ask, use):
    with serving(tei(last_letters_first)) as stub:
        use(stub.url)
        ask("apple", channels={"rerank": "which fruit?"})

    (sent,) = stub.requests
    assert sent["query"] == "which fruit?"
    assert sent["texts"] == ["Guide\ndelta delta delta delta delta delta  of apple"]


def test_hidden_passages_never_reach_the_reranker(ask, use, workspace):
    Chunk.objects.in_workspace(workspace).filter(text__contains="secretly").delete()
    with serving(tei(last_letters_first)) as stub:
        use(stub.url)
        body = ask(filters={"path_glob": ["[!b]*.md", "hidden/*"]})

    (sent,) = stub.requests
    assert len(sent["texts"]) == len(body["hits"]) == 4
    assert not any(word in text for text in sent["texts"] for word in ("secretly", "banana"))


def test_cap_of_a_document_applies_before_reranking(ask, use, workspace):
    with serving(tei(lambda passage: float(passage[-1]))) as stub:
        use(stub.url)
        for given, parts in (({}, 5), ({"per_file_cap": 2}, 2), ({"per_file_cap": 0}, 8)):
            body = ask("omega", **given)
            assert len(body["hits"]) == len(stub.requests[-1]["texts"]) == parts
        Workspace.objects.filter(pk=workspace.pk).update(settings={"pre_rerank_max_per_file": 3})
        assert len(ask("omega")["hits"]) == 3


def test_cutoff_ends_the_list_where_scores_fall(ask, use):
    scores = dict(zip("abcdes", [0.3, 0.44, 0.46, 0.8, 0.9, 0.1], strict=True))
    with serving(results(lambda passage: scores[passage.rpartition(" ")[2][0]])) as stub:
        use(stub.url, "jina")
        body = ask(cutoff=True)

    assert paths(body) == ["elder.md", "damson.md", "cherry.md"]
    assert [hit["score"] for hit in body["hits"]] == [0.9, 0.8, 0.46]


def test_cutoff_after_a_fallback_keeps_eight(ask, use):
    with serving(FAILURES["500"]) as stub:
        use(stub.url)
        assert len(ask("omega", cutoff=True, per_file_cap=0)["hits"]) == 8
        assert len(ask("delta omega", cutoff=True, per_file_cap=0, k=50)["hits"]) == 8


def test_pages_continue_the_reranked_list(ask, use, reader, workspace):
    with serving(tei(last_letters_first)) as stub:
        use(stub.url)
        first = ask(k=2)
        assert paths(first) == SHUFFLED[:2]
        assert paths(ask(k=4)) == SHUFFLED[:4]
        second = reader.post(
            address(workspace, "/search"), {"cursor": first["next_cursor"], "k": 10}, format="json"
        ).json()

    assert paths(second) == SHUFFLED[2:]
    assert [hit["retrieval"]["rerank_rank"] for hit in second["hits"]] == [3, 4, 5, 6]
    assert second["rerank"] == {"status": "ok", "reason": None}
    assert len(stub.requests) == 2


def test_every_mode_can_be_reranked_and_explained(ask, use):
    with serving(tei(lambda passage: 1.0 if "banana" in passage else 0.0)) as stub:
        use(stub.url)
        for mode in ("lexical", "vector", "hybrid"):
            body = ask(mode=mode, explain=True, cutoff=True)
            assert paths(body)[0] == "banana.md"
            assert body["hits"][0]["retrieval"]["method"] == mode
            assert {"cap", "rerank", "cutoff"} <= body["explain"]["timings_ms"].keys()
