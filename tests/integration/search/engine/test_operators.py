"""Typed operators hold in each leg, in each check of candidates, in totals, facets and next pages."""

from datetime import UTC, datetime
from itertools import product

import pytest

from kebab.identity.reader import Reader
from search.access.scope import resolve_scope
from search.embedders.configured import configured_embedder
from search.engine.corpus import Corpus
from search.engine.facets import count_facets
from search.engine.pages import fetch_next_page
from search.engine.search import apply_operators, search
from search.mirror.files import MirrorAbsent
from search.mirror.query.exact import ExactLeg
from search.mirror.query.lexical import LexicalLeg
from search.models import Chunk, Document
from search.retrieval.fusion.legs import pack_ids, unpack_ids
from search.retrieval.query.channels import QueryChannels
from search.retrieval.query.filters import SearchFilters
from search.retrieval.types import Mode, SearchQuery
from search.vectors.leg import VectorLeg
from search.vectors.spaces import live_space
from tests.support.corpus import chunk, write
from tests.support.search import ask, embed, paths, sync

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)


def fill(workspace):
    """Write four documents that have a word in common."""
    leave = chunk("Thirty working days a year.", heading="Policy on annual leave")
    write(workspace, "hr/leave.md", leave, title="Policy on annual leave", tags=("HR", "rules"))
    write(
        workspace,
        "hr/bot.md",
        "Chatbots know the annual days of leave.",
        title="Bots",
        tags=("HR",),
        metadata={"date": "2024-06-01", "author": "Zoë de Jong, Ada"},
    )
    write(workspace, "shop/Refund.MD", "A refund takes ten days.", source="shop", lang="de", title="Résumé")
    code = {"media": "code", "lang": "und", "title": "days.py"}
    write(workspace, "src/days.py", chunk("refund = 10 * days", kind="code", language="python"), **code)
    Document.objects.in_workspace(workspace).exclude(path=BOT).update(dated_at=NOON)


LEAVE, BOT, REFUND, CODE = "hr/leave.md", "hr/bot.md", "shop/Refund.MD", "src/days.py"
ALL = {LEAVE, BOT, REFUND, CODE}
CASES = [
    ("days", ALL),
    ("days -chatbot", ALL - {BOT}),
    ("days -refund -chatbots", {LEAVE}),
    ('days -"annual leave"', ALL - {LEAVE}),
    ('days "annual leave"', {LEAVE}),
    ("days „annual leave“", {LEAVE}),
    ('days "leave annual"', set()),
    ('days "working day"', set()),
    ('days "WORKING  days"', {LEAVE}),
    ('days -"chatbot"', ALL),
    ('days "chatbots"', {BOT}),
    ('days "annual leave" "working days"', {LEAVE}),
    ('days "annual leave" -chatbot', {LEAVE}),
    ("days title:leave", {LEAVE}),
    ('days title:"on annual lea"', {LEAVE}),
    ('days title:"eave"', set()),
    ("days title:eave", ALL),
    ("days title:resume", {REFUND}),
    ("days -title:leave", ALL - {LEAVE}),
    ("days path:hr/", {LEAVE, BOT}),
    ("days path:/HR/l", {LEAVE}),
    ("days path:*.md", {LEAVE, BOT, REFUND}),
    ("days path:hr/*", {LEAVE, BOT}),
    ("days path:hr/leave.md path:src/**", {LEAVE, CODE}),
    ("days -path:hr/**", {REFUND, CODE}),
    ("days type:code", {CODE}),
    ("days type:markdown", {LEAVE, BOT, REFUND}),
    ("days type:pdfs", set()),
    ("days -type:py", ALL - {CODE}),
    ("days lang:german", {REFUND}),
    ("days lang:de lang:PY", {REFUND, CODE}),
    ("days -lang:python", ALL - {CODE}),
    ("days source:Shop", {REFUND}),
    ("days -source:shop", ALL - {REFUND}),
    ("days source:nowhere", ALL),
    ('days source:"nowhere"', set()),
    ("days path:nowhere/", set()),
    ("days tag:hr", {LEAVE, BOT}),
    ("days tag:hr tag:none", {LEAVE, BOT}),
    ("days tag:hr -tag:rules", {BOT}),
    ("days after:2024-05", ALL),
    ("days after:2024-05-02", {BOT}),
    ("days before:2024-6-1", ALL - {BOT}),
    ("days author:zoe", {BOT}),
    ('days author:"De Jon"', {BOT}),
    ("days author:ong", ALL),
    ("days -author:ong", ALL),
    ("days author:bob author:ada", {BOT}),
    ("days -author:jong", ALL - {BOT}),
    ("days tag:hr path:leave", {LEAVE}),
    ("title:annual", {LEAVE}),
    ("tag:hr", set()),
    ("days -- chatbot", ALL),
]
ANSWERED = [case for case in CASES if case[0] != "title:annual"]


def find_words(corpus, ids, text):
    with corpus.open_mirror() as view:
        return LexicalLeg(view, text).search(100).ids


def find_names(corpus, ids, text):
    with corpus.open_mirror() as view:
        leg = ExactLeg(view, f"{text} `days`")
        return leg.search(100).ids


def find_vectors(corpus, ids, text):
    space = live_space(corpus.workspace)
    return VectorLeg(space, text, configured_embedder(), corpus.find_nearest).search(100).ids


def find_vectors_without_a_mirror(corpus, ids, text):
    def fail():
        raise MirrorAbsent("gone")

    corpus._mirror.open_for_leg = fail
    return find_vectors(corpus, ids, text)


def check(corpus, ids, text):
    return ids[corpus.check_visible(ids)]


FINDERS = [
    (find_words, True),
    (find_names, True),
    (find_vectors, True),
    (find_vectors, False),
    (find_vectors_without_a_mirror, True),
    (check, True),
    (check, False),
]


def scope_of(workspace, typed, **filters):
    scope = resolve_scope(workspace, SearchFilters(**filters), Reader())
    return apply_operators(workspace, scope, SearchQuery(text=typed, operators=True))


def test_operator_narrows_the_hits_of_each_mode(filled, subtests):
    for (typed, expected), mode in product(CASES, Mode):
        with subtests.test(typed=typed, mode=mode):
            result = ask(filled, typed, mode, operators=True)
            assert sorted(paths(result)) == sorted(expected)


def test_operators_restrict_each_leg_and_candidate_check(filled, subtests):
    rows = Document.objects.in_workspace(filled).values_list("chunks__chunk_id", "path")
    name_of = {chunk_id.hex: path for chunk_id, path in rows}
    ids = pack_ids(sorted([*name_of, "0" * 32]))
    for (typed, expected), (find, trusts_mirror) in product(CASES, FINDERS):
        if not typed.startswith("days"):
            continue
        with subtests.test(typed=typed, find=find.__name__, trusts_mirror=trusts_mirror):
            scope, query = scope_of(filled, typed)
            corpus = Corpus(filled, scope, trusts_mirror=trusts_mirror)
            found = find(corpus, ids, query.effective_channels.lexical)
            assert sorted(name_of[id_] for id_ in unpack_ids(found)) == sorted(expected)


def test_total_and_facets_count_what_meets_the_operators(filled):
    result = ask(filled, 'days -"annual leave"', operators=True)
    assert (result.lexical_total.value, result.lexical_total.relation) == (3, "eq")
    typed = SearchQuery(text='days -"annual leave" tag:hr', operators=True)
    facets = count_facets(filled, typed, reader=Reader())
    assert facets.total == 1
    assert {each.value: each.documents for each in facets.by_filter["tags_any"]} == {"HR": 1}


def test_operators_narrow_filters_given_as_parameters(filled):
    for typed, filters in (
        ("days tag:hr", {"tags_any": ("rules",)}),
        ("days path:*.md", {"path_glob": ("hr/l*",)}),
    ):
        for mode in Mode:
            assert paths(ask(filled, typed, mode, operators=True, **filters)) == [LEAVE]


def test_operators_are_ignored_in_raw_queries_and_without_the_option(filled):
    assert len(ask(filled, "days -chatbot").hits) == len(ALL)
    assert len(ask(filled, "'days'", operators=True).hits) == len(ALL)


def test_operators_do_not_change_explicit_channels(filled):
    channels = QueryChannels(vector="days -chatbot", lexical="chatbots days", rerank="days")
    result = ask(filled, "days -chatbot", Mode.HYBRID, channels=channels, operators=True, explain=True)
    assert sorted(paths(result)) == sorted(ALL - {BOT})
    assert "chatbots" in result.explain["match"]["every"]


def test_operators_apply_to_the_next_page(filled):
    query = SearchQuery(text="days -chatbot", mode=Mode.LEXICAL, k=1, operators=True)
    first = search(filled, query, caller="somebody")
    Document.objects.in_workspace(filled).filter(path=REFUND).update(title="Chatbot")
    Chunk.objects.in_workspace(filled).filter(document__path=REFUND).update(breadcrumb="Chatbot")
    rest = fetch_next_page(filled, first.next_cursor, "somebody", reader=Reader(), k=10)
    found = {*paths(first), *paths(rest)}
    assert (BOT in found, REFUND in paths(rest)) == (False, False)


def test_passage_that_a_lagging_mirror_lacks_is_checked_by_its_text(filled):
    write(filled, "new.md", "Ask a chatbot in these days.")
    write(filled, "other.md", "Ask a person in these days.")
    embed(filled)
    found = paths(ask(filled, "days -chatbot", Mode.VECTOR, operators=True))
    assert ("new.md" in found, "other.md" in found) == (False, True)


def test_document_that_changed_under_a_lagging_mirror_is_checked_as_it_is(filled):
    Document.objects.in_workspace(filled).filter(path=LEAVE).update(tags=[])
    for mode in Mode:
        assert paths(ask(filled, "days tag:hr", mode, operators=True)) == [BOT]


def test_rare_phrase_is_found_by_its_meaning_behind_many_nearer_passages(workspace, settings, monkeypatch):
    for number in range(3):
        write(workspace, f"{number}.md", *[f"apple {n}" for n in range(250)])
    write(workspace, "rare.md", "pears and quinces")
    sync(workspace)
    embed(workspace)
    for limit in (10, 20_000):
        monkeypatch.setattr("search.engine.corpus._MAX_PASSING", limit)
        assert paths(ask(workspace, 'apple "pears and"', Mode.VECTOR, operators=True)) == ["rare.md"]


def test_correction_and_suggestion_keep_the_operators(filled):
    corrected = ask(filled, "refnud -chatbot", operators=True)
    assert corrected.corrected_query == "refund -chatbot" and BOT not in paths(corrected)
    assert ask(filled, "days -chatbto", operators=True).corrected_query is None
    assert ask(filled, "days path:refnud/", operators=True).corrected_query is None
    suggested = ask(filled, "“anual leave” tag:hr", operators=True)
    assert suggested.hits == () and suggested.did_you_mean == "“annual leave” tag:hr"


def test_result_without_hits_names_the_operators(filled):
    (warning,) = ask(filled, 'days "quince jam" tag:hr', operators=True).warnings
    assert '"quince jam", tag:hr' in warning
    (warning,) = ask(filled, "days after:yesterday", operators=True).warnings
    assert "after:yesterday" in warning
    (warning,) = ask(filled, "tag:hr", operators=True).warnings
    assert "words" in warning


@pytest.mark.parametrize(
    ("path", "typed", "gate"),
    [
        (BOT, "days -chatbot", "excluded"),
        (BOT, 'days "annual leave"', "required"),
        (BOT, "days title:leave", "filtered"),
        (LEAVE, 'days "annual leave"', "returned"),
    ],
)
def test_operator_that_stops_a_passage_is_explained(filled, path, typed, gate):
    target = Document.objects.in_workspace(filled).get(path=path).doc_id.hex
    for mode in (Mode.LEXICAL, Mode.VECTOR):
        explain = ask(filled, typed, mode, operators=True, explain=True, why_not=target).explain
        assert explain["why_not"]["gate"] == gate
        operator = typed.removeprefix("days ")
        assert gate == "returned" or operator in explain["why_not"]["detail"]
        assert explain["operators"]["conditions"] == [operator]
        assert operator not in explain["operators"]["text"] or '"' in operator
