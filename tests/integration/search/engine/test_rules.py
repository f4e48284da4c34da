"""Search under the rules of a team: synonyms, stop words, pins, promoted answers and boosts."""

import pytest

from search.models import Document
from search.retrieval.types import Mode, Sort
from search.settings.rules import validate_rules
from tests.support.corpus import write
from tests.support.search import ask, embed, paths, sync


def set_rules(workspace, *rules):
    workspace.settings["rules"] = validate_rules(list(rules))
    workspace.save(update_fields=["settings"])


@pytest.fixture
def handbook(workspace):
    write(workspace, "k.md", "Kubernetes runs our containers.")
    write(workspace, "leave.md", "Paid time off is asked for in writing.")
    write(workspace, "time.md", "The time of lunch is noon, and paid in cash.")
    write(workspace, "acme.md", "Acme sells pumps.")
    write(workspace, "lunch.md", "Lunch at Acme is soup.")
    sync(workspace)
    return workspace


def test_two_way_synonyms_find_what_either_finds(handbook):
    assert paths(ask(handbook, "k8s")) == []
    set_rules(handbook, {"kind": "synonyms", "words": ["k8s", "Kubernetes"]})
    result = ask(handbook, "k8s")
    assert paths(result) == ["k.md"]
    assert result.hits[0].highlights == ((0, 10),)
    assert (result.hits[0].retrieval.tier, result.corrected_query) == ("all", None)
    assert paths(ask(handbook, "k8s containers")) == ["k.md"]


def test_synonyms_map_words_to_phrases_and_back(handbook):
    set_rules(handbook, {"kind": "synonyms", "words": ["PTO"], "means": ["paid time off"]})
    result = ask(handbook, "pto")
    assert (paths(result), result.hits[0].retrieval.tier) == (["leave.md"], "all")
    assert ask(handbook, "paid time off").hits[0].doc_path == "leave.md"
    write(handbook, "form.md", "The PTO form is blue.")
    sync(handbook)
    assert "form.md" not in paths(ask(handbook, "paid time off"))
    set_rules(handbook, {"kind": "synonyms", "words": ["PTO", "paid time off"]})
    found = ask(handbook, "paid time off")
    tiers = {hit.doc_path: hit.retrieval.tier for hit in found.hits}
    assert tiers == {"leave.md": "all", "form.md": "all", "time.md": "some"}


def test_stop_words_are_not_searched_beside_others(handbook):
    assert {hit.retrieval.tier for hit in ask(handbook, "acme soup pumps").hits} == {"some"}
    set_rules(handbook, {"kind": "stop_words", "words": ["Acme", "pumps"]})
    assert paths(ask(handbook, "acme soup pumps")) == ["lunch.md"]
    assert set(paths(ask(handbook, "acme"))) == {"acme.md", "lunch.md"}


def test_a_rule_that_is_off_does_nothing(handbook):
    set_rules(handbook, {"kind": "synonyms", "words": ["k8s", "Kubernetes"], "is_active": False})
    assert paths(ask(handbook, "k8s")) == []


def pin(doc_ids, *queries, match="exact"):
    return {"kind": "pin", "queries": list(queries), "match": match, "documents": doc_ids}


def doc_id(workspace, path):
    return Document.objects.in_workspace(workspace).get(path=path).doc_id.hex


@pytest.mark.parametrize("group", ["passage", "document"])
@pytest.mark.parametrize("mode", Mode)
def test_pinned_documents_come_first_in_their_order(handbook, mode, group):
    embed(handbook)
    first, second = (doc_id(handbook, path) for path in ("k.md", "lunch.md"))
    set_rules(handbook, pin([first, second], "Soup at lunch!"))
    found = ask(handbook, "soup at  LUNCH", mode, group=group)
    assert paths(found)[:2] == ["k.md", "lunch.md"]
    assert [hit.retrieval.pinned for hit in found.hits[:3]] == [True, True, False][: len(found.hits)]
    assert {hit.sections is None for hit in found.hits} == {group == "passage"}
    assert [hit.rank for hit in found.hits] == list(range(1, len(found.hits) + 1))
    assert paths(found).count("lunch.md") == 1
    assert [hit.score for hit in found.hits] == sorted((hit.score for hit in found.hits), reverse=True)
    assert not any(hit.retrieval.pinned for hit in ask(handbook, "soup", mode).hits)


def test_pinned_near_copies_all_come_first(handbook):
    same = " ".join(f"word{number}" for number in range(40))
    for number in range(4):
        write(handbook, f"minutes{number}.md", f"{same} day {number}")
    write(handbook, "other.md", "Soup of the day.")
    sync(handbook)
    pinned = [f"minutes{number}.md" for number in range(4)]
    set_rules(handbook, pin([doc_id(handbook, path) for path in pinned], "soup"))
    assert paths(ask(handbook, "soup", k=5))[:4] == pinned


def test_pins_are_under_filters_and_left_out_of_sorted_lists(handbook):
    set_rules(handbook, pin([doc_id(handbook, "k.md"), "0" * 32], "lunch", match="contains"))
    assert paths(ask(handbook, "when is lunch"))[0] == "k.md"
    assert "k.md" not in paths(ask(handbook, "when is lunch", path_glob=("lunch*",)))
    assert "k.md" not in paths(ask(handbook, "lunch", sort=Sort.TITLE))


def test_promoted_answers_belong_to_their_queries(handbook):
    answer = {"title": "Lunch", "text": "At noon.", "url": "https://example.org/lunch"}
    set_rules(handbook, {"kind": "answer", "queries": ["when is lunch"], **answer})
    (promoted,) = ask(handbook, "When is lunch?").promoted
    assert (promoted.title, promoted.text, promoted.url) == tuple(answer.values())
    assert ask(handbook, "lunch").promoted == ()


def test_boosts_multiply_scores(handbook):
    write(handbook, "b.txt", "Soup of the day, soup of the week.")
    sync(handbook)
    assert paths(ask(handbook, "soup"))[0] == "b.txt"
    set_rules(handbook, {"kind": "boost", "field": "type", "value": "md", "factor": 5})
    found = ask(handbook, "soup")
    assert paths(found) == ["lunch.md", "b.txt"]
    assert 1 >= found.hits[0].score > found.hits[1].score
