"""Reranked searches through the API: with stubs that score well, and with stubs that fail in every way."""

import pytest

from kebab.people.models import Workspace
from search.models import Chunk
from search.rerank import configured_reranker
from tests.integration.search.rerank.behaviours import FAILURES, results, tei
from tests.integration.search.rerank.stub import closed_port, serving
from tests.integration.search.rerank.tiny import make_model
from tests.support.api import address
from tests.support.corpus import write

# Servers that never come to an end: only the limit can end a search that asks them.
ENDLESS = ("hangs", "drips headers", "drips its body")
NAMES = ("apple", "banana", "cherry", "damson", "elder")


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
    """Have searches of one test ask the reranker at a URL."""

    def set_(url, kind="tei", *, limit_ms=60_000, model="m"):
        settings.KEBAB_RERANKER = kind
        settings.KEBAB_RERANK_URL = url
        settings.KEBAB_RERANK_MODEL = model
        settings.KEBAB_RERANK_LIMIT_MS = limit_ms
        configured_reranker.cache_clear()

    yield set_
    configured_reranker.cache_clear()


@pytest.fixture
def ask(reader, workspace):
    """Search, and give the body of an answer that must be a 200."""

    def post(q="delta", **given):
        given = {"q": q, "mode": "lexical", "rerank": True, **given}
        response = reader.post(address(workspace, "/search"), given, format="json")
        assert response.status_code == 200, response.content
        return response.json()

    return post


def paths(body):
    return [hit["doc_path"] for hit in body["hits"]]


def last_letters_first(passage):
    """A score that turns the lexical order round: a.md last, e.md first."""
    word = passage.rpartition(" ")[2]
    return (ord(word[0]) - ord("a")) / 10


SHUFFLED = ["hidden/one.md", "elder.md", "damson.md", "cherry.md", "banana.md", "apple.md"]


@pytest.mark.parametrize(
    ("kind", "behaviour"),
    [
        ("tei", tei(last_letters_first)),
        ("jina", results(lambda passage: last_letters_first(passage) / 2)),
        ("cohere", results(lambda passage: last_letters_first(passage) / 2)),
        ("siliconflow", results(lambda passage: last_letters_first(passage) / 2)),
    ],
)
def test_a_reranker_of_every_shape_orders_the_hits(ask, use, kind, behaviour):
    with serving(behaviour) as stub:
        use(stub.url, kind)
        body = ask()

    assert paths(body) == SHUFFLED
    assert body["rerank"] == {"status": "ok", "reason": None}
    scores = [hit["score"] for hit in body["hits"]]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    for rank, hit in enumerate(body["hits"], start=1):
        assert hit["rank"] == hit["retrieval"]["rerank_rank"] == rank
        assert hit["score"] == hit["retrieval"]["rerank_score"] != hit["retrieval"]["fusion_score"]


def test_logits_become_scores(ask, use):
    with serving(tei(lambda passage: 0.0)) as stub:
        use(stub.url)
        assert {hit["score"] for hit in ask()["hits"]} == {0.5}


def test_a_local_model_orders_the_hits(ask, use, tmp_path):
    use("", "local", model=str(make_model(tmp_path)))
    body = ask(channels={"rerank": "cherry"})

    assert body["rerank"] == {"status": "ok", "reason": None}
    assert paths(body)[0] == "cherry.md"


@pytest.mark.parametrize("failure", FAILURES)
def test_whatever_the_reranker_does_the_fused_order_is_answered(ask, use, failure, caplog):
    fused = ask(rerank=False)
    with serving(FAILURES[failure]) as stub:
        use(stub.url, limit_ms=300 if failure in ENDLESS else 60_000)
        body = ask()

    assert body["rerank"]["status"] == "fallback"
    assert body["rerank"]["reason"].startswith("the reranker")
    assert "127.0.0.1" not in body["rerank"]["reason"]
    assert body["hits"] == fused["hits"]
    assert "fused order stands" in caplog.text
    assert "delta" not in caplog.text


@pytest.mark.parametrize(
    ("settings_of", "reason"),
    [
        (lambda: ("none", ""), "no reranker is configured"),
        (lambda: ("tei", f"http://127.0.0.1:{closed_port()}"), "the reranker can't be reached"),
        (lambda: ("tei", ""), "the reranker's settings are wrong"),
        (lambda: ("nonsense", ""), "the reranker's settings are wrong"),
        (lambda: ("local", ""), "the local reranker's model is missing"),
    ],
)
def test_without_a_reranker_that_answers_the_fused_order_is_answered(ask, use, settings_of, reason):
    fused = ask(rerank=False)
    kind, url = settings_of()
    use(url, kind)
    body = ask()

    assert body["hits"] == fused["hits"]
    assert body["rerank"]["status"] == "fallback"
    assert body["rerank"]["reason"].startswith(reason)


def test_a_dead_reranker_is_left_alone_after_three_failures(ask, use):
    with serving(FAILURES["500"]) as stub:
        use(stub.url)
        reasons = [ask()["rerank"]["reason"] for _ in range(6)]

    assert len(stub.requests) == 3
    assert reasons[:3] == ["the reranker answered 500"] * 3
    assert all("left alone" in reason for reason in reasons[3:])


def test_nobody_asks_a_reranker_unless_told_to(ask, use):
    with serving(tei(last_letters_first)) as stub:
        use(stub.url)
        body = ask(rerank=False)

    assert (body["rerank"], stub.requests) == (None, [])


def test_the_reranker_reads_the_rerank_channel_and_the_passages_with_their_breadcrumbs(ask, use):
    with serving(tei(last_letters_first)) as stub:
        use(stub.url)
        ask("apple", channels={"rerank": "which fruit?"})

    (sent,) = stub.requests
    assert sent["query"] == "which fruit?"
    assert sent["texts"] == ["Guide\ndelta delta delta delta delta delta  of apple"]


def test_what_the_caller_does_not_see_never_reaches_the_reranker(ask, use, workspace):
    Chunk.objects.in_workspace(workspace).filter(text__contains="secretly").delete()
    with serving(tei(last_letters_first)) as stub:
        use(stub.url)
        body = ask(filters={"path_glob": ["[!b]*.md", "hidden/*"]})

    (sent,) = stub.requests
    assert len(sent["texts"]) == len(body["hits"]) == 4
    assert not any(word in text for text in sent["texts"] for word in ("secretly", "banana"))


@pytest.mark.parametrize(("given", "parts"), [({}, 5), ({"per_file_cap": 2}, 2), ({"per_file_cap": 0}, 8)])
def test_the_cap_comes_before_the_reranker(ask, use, given, parts):
    with serving(tei(lambda passage: float(passage[-1]))) as stub:
        use(stub.url)
        body = ask("omega", **given)

    assert len(body["hits"]) == len(stub.requests[0]["texts"]) == parts


def test_the_workspace_sets_the_cap(ask, use, workspace):
    Workspace.objects.filter(pk=workspace.pk).update(settings={"pre_rerank_max_per_file": 3})
    with serving(tei(len)) as stub:
        use(stub.url)
        assert len(ask("omega")["hits"]) == 3


def test_the_cutoff_ends_the_list_where_its_scores_fall(ask, use):
    scores = dict(zip("abcdes", [0.3, 0.44, 0.46, 0.8, 0.9, 0.1], strict=True))
    with serving(results(lambda passage: scores[passage.rpartition(" ")[2][0]])) as stub:
        use(stub.url, "jina")
        body = ask(cutoff=True)

    assert paths(body) == ["elder.md", "damson.md", "cherry.md"]
    assert [hit["score"] for hit in body["hits"]] == [0.9, 0.8, 0.46]


def test_after_a_fallback_the_cutoff_takes_the_first_eight(ask, use):
    with serving(FAILURES["500"]) as stub:
        use(stub.url)
        assert len(ask("omega", cutoff=True, per_file_cap=0)["hits"]) == 8
        assert len(ask("delta omega", cutoff=True, per_file_cap=0, k=50)["hits"]) == 8


def test_a_longer_list_begins_as_a_shorter_one_and_its_pages_go_on(ask, use, reader, workspace):
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


def test_explain_says_how_long_each_stage_took(ask, use):
    with serving(tei(last_letters_first)) as stub:
        use(stub.url)
        timings = ask(explain=True, cutoff=True)["explain"]["timings_ms"]
    assert {"cap", "rerank", "cutoff"} <= timings.keys()


@pytest.mark.parametrize("mode", ["lexical", "vector", "hybrid"])
def test_every_mode_can_be_reranked(ask, use, mode):
    with serving(tei(lambda passage: 1.0 if "banana" in passage else 0.0)) as stub:
        use(stub.url)
        body = ask(mode=mode)

    assert paths(body)[0] == "banana.md"
    assert body["hits"][0]["retrieval"]["method"] == mode


def test_a_query_without_hits_asks_nobody(ask, use):
    with serving(tei(last_letters_first)) as stub:
        use(stub.url)
        body = ask("nothingofthekind")
    assert (body["hits"], body["rerank"]["status"], stub.requests) == ([], "ok", [])
