"""Names and quoted phrases are found exactly, and stay high after fusion."""

from contextlib import contextmanager

import pytest

from kebab.identity.reader import Reader
from search.access.scope import resolve_scope
from search.engine.corpus import mirror_source
from search.mirror.query import exact
from search.mirror.query.exact import ExactLeg
from search.mirror.query.view import MirrorView
from search.models import Chunk
from search.retrieval.fusion.legs import unpack_ids
from search.retrieval.query.exact import ALONE_WEIGHT
from search.retrieval.query.filters import SearchFilters
from search.retrieval.types import Mode
from tests.support.corpus import chunk, make_workspace, write
from tests.support.search import ask, embed, paths, scores_by_id, sync


@contextmanager
def exact_leg(workspace, text, **filters):
    """Provide the exact leg of a query."""
    scope = resolve_scope(workspace, SearchFilters(**filters), Reader())
    with mirror_source(workspace, scope).open() as view:
        yield ExactLeg(view, text)


def find(workspace, text, limit=10, **filters):
    with exact_leg(workspace, text, **filters) as leg:
        return leg.search(limit)


def found_paths(workspace, text, **filters):
    chunks = Chunk.objects.in_workspace(workspace).select_related("document")
    by_id = {each.chunk_id.hex: each.document.path for each in chunks}
    return [by_id[id_] for id_ in unpack_ids(find(workspace, text, 100, **filters).ids)]


def below(heading, text, **fields):
    return chunk(
        text, heading=heading, breadcrumb=f"Guide > {heading}", heading_path=("Guide", heading), **fields
    )


def fill(workspace):
    """Write documents that document, define, use and resemble a function."""
    write(workspace, "use.md", "Call rate_limit(5) before anything else, rate_limit is cheap.")
    write(workspace, "code.py", chunk("def rate_limit(n):\n    return n", breadcrumb="code.py"))
    write(workspace, "reference.md", below("rate_limit", "How often a caller may ask."), lang="de")
    write(workspace, "plural.md", "All rate_limits of the rate limit are listed.")


def test_documentation_comes_before_definition_and_use_and_lookalikes_are_left_out(filled):
    assert found_paths(filled, "rate_limit") == ["reference.md", "code.py", "use.md"]
    assert found_paths(filled, '"rate limit"') == ["plural.md"]


def test_name_in_the_title_counts_at_least_as_much_as_one_in_the_text(workspace):
    for number in range(3):
        write(workspace, f"{number}.md", f"Mail from GitLab goes to list {number}, GitLab does so at night.")
    titled = chunk("Ask for a seat.", heading="Seats", breadcrumb="Starting with GitLab > Seats")
    write(workspace, "start.md", titled)
    sync(workspace)
    assert found_paths(workspace, "starting with GitLab")[0] == "start.md"


def test_heading_of_a_small_section_that_shares_a_chunk_is_the_name(workspace):
    for number in range(3):
        write(workspace, f"{number}.md", f"Set quay.depth to {number}, quay.depth is in metres.")
    shared = chunk("How deep it is.", breadcrumb="Settings > quay.length \u00b7 quay.depth")
    write(workspace, "settings.md", shared)
    sync(workspace)
    assert found_paths(workspace, "quay.depth")[0] == "settings.md"


def test_query_that_is_a_title_or_a_file_name_has_that_document_first(workspace, subtests):
    write(workspace, "a/sauvegarde.md", "Chaque nuit.", "Les copies.", title="Les Sauvegardes, pas à pas")
    write(workspace, "b/Travel Costs (EMEA).txt", "Who pays.", title="notes")
    write(workspace, "c/other.md", "les sauvegardes pas a pas, travel costs EMEA", title="Other")
    sync(workspace)
    cases = [
        ("les sauvegardes pas a pas", "a/sauvegarde.md"), ("Sauvegarde", "a/sauvegarde.md"),
        ("travel costs emea", "b/Travel Costs (EMEA).txt"),
        ("Travel Costs (EMEA).txt", "b/Travel Costs (EMEA).txt"),
    ]  # fmt: skip
    for text, path in cases:
        with subtests.test(text=text):
            with exact_leg(workspace, text) as leg:
                assert (leg.has_names, leg.weight) == (True, ALONE_WEIGHT)
                (first, *_) = unpack_ids(leg.search(10).ids)
            found = Chunk.objects.in_workspace(workspace).get(chunk_id=first)
            assert (found.document.path, found.ordinal) == (path, 0)
    assert found_paths(workspace, "les sauvegardes pas a pas", path_glob=("c/*",)) == []
    assert found_paths(workspace, "les sauvegardes") == []


def test_query_with_a_number_has_the_titles_that_begin_with_it_first(workspace):
    for number in (2, 3, 20):
        write(workspace, f"adr/{number}.md", "We decided it in 2 steps.", title=f"ADR {number}: a decision")
    for number in range(5):
        write(workspace, f"sprint/{number}.md", "What we did.", title=f"Sprint 14, day {number}")
    sync(workspace)
    assert found_paths(workspace, "adr 2") == ["adr/2.md"]
    assert found_paths(workspace, "ADR 20") == ["adr/20.md"]
    assert found_paths(workspace, "sprint 14 day") == found_paths(workspace, "adr") == []
    assert found_paths(workspace, "sprint 14 day", path_glob=("*/0.md",)) == ["sprint/0.md"]


def test_unfinished_query_has_the_titles_that_begin_with_it_first(workspace):
    write(workspace, "django.md", "A framework.", title="Django")
    write(workspace, "other.md", "Django, django and django: djangos.", title="Frameworks")
    embed(workspace)
    sync(workspace)
    assert paths(ask(workspace, "djang", Mode.HYBRID, prefix=True))[0] == "django.md"
    assert (
        paths(ask(workspace, "djang path:*.md", Mode.HYBRID, prefix=True, operators=True))[0] == "django.md"
    )
    with exact_leg(workspace, "djang") as finished:
        assert finished.titled == []


def test_number_in_parts_is_found_as_a_whole_and_outweighs_what_words_and_vectors_agree_upon(workspace):
    for number in ("10.1.2.1", "10.2.1.2", "10.2.2.1"):
        write(workspace, f"{number}.md", f"The host {number} runs a service.", title="Hosts")
    write(workspace, "many.md", "The host and the service, which service the host runs: 10, 2, 1, 2.")
    sync(workspace)
    embed(workspace)
    question = "which service runs on the host 10.2.1.2 and which other service is there"
    assert found_paths(workspace, question) == ["10.2.1.2.md"]
    found = ask(workspace, question, Mode.HYBRID, explain=True)
    assert paths(found)[0] == "10.2.1.2.md"
    assert found.explain["numbers"] == [{"text": "10.2.1.2", "kind": "dotted", "readings": ["10.2.1.2"]}]
    assert find(workspace, question).is_decisive
    assert not find(workspace, "a host").is_decisive


def test_filters_narrow_the_leg(filled):
    assert found_paths(filled, "rate_limit", lang=("de",)) == ["reference.md"]
    assert found_paths(filled, "rate_limit", path_glob=("*.py",)) == ["code.py"]
    assert found_paths(filled, "rate_limit", lang=("xx",)) == []


def test_name_of_one_word_is_read_from_the_posting_lists_under_the_filters(workspace, monkeypatch):
    monkeypatch.setattr(exact, "_READ", 4)
    write(workspace, "reference.md", below("makePort", "How a port is made."), lang="de")
    for number in range(4):
        write(workspace, f"{number}.md", f"Call makePort once{' or twice' * number}.")
    sync(workspace)
    assert found_paths(workspace, "makePort") == ["reference.md", "0.md", "1.md"]
    assert found_paths(workspace, "makePort", lang=("de",)) == ["reference.md"]
    assert found_paths(workspace, "makePort", lang=("xx",)) == []


def test_exact_leg_out_of_time_is_reported_as_degraded(filled, settings, set_embedder, monkeypatch):
    set_embedder("none")
    lexical = ask(filled, "rate_limit", Mode.HYBRID)
    monkeypatch.setattr(MirrorView, "is_late", lambda view: settings.KEBAB_LEG_LIMIT_MS == 0)
    settings.KEBAB_LEG_LIMIT_MS = 0
    found = find(filled, "rate_limit")
    assert (len(found.ids), found.is_complete, found.is_available) == (0, False, False)
    assert lexical.degraded == ("vector",)
    assert "exact" in ask(filled, "rate_limit", Mode.HYBRID).degraded


def test_exact_leg_accepts_any_quoted_text(filled, subtests):
    for text in ('"(" "x"', '"質"', "a\x00b_c", '"' * 50, "std::::x", "#.#", '"* NEAR("', "operator()"):
        with subtests.test(text=text):
            found = find(filled, text)
            assert (len(found.ids), found.is_complete) == (0, True)


def test_deleted_chunk_is_not_found_by_its_name(workspace):
    fill(workspace)
    sync(workspace)
    write(workspace, "reference.md", "Nothing here any more.")
    sync(workspace)
    assert found_paths(workspace, "rate_limit") == ["code.py", "use.md"]


def test_member_is_found_below_its_container(workspace):
    code = {"breadcrumb": "ftplib.py", "kind": "code"}
    declaring = chunk("class FTP:\n    x = 1", **code), chunk("    def makeport(self):", 1, **code)
    write(workspace, "ftplib.py", *declaring)
    write(workspace, "other.py", chunk("    def makeport(self):", breadcrumb="other.py", kind="code"))
    write(workspace, "vector.md", chunk("Adds to the end.", breadcrumb="vector class > push_back"))
    write(workspace, "deque.md", chunk("Adds to the end.", breadcrumb="deque class > push_back"))
    sync(workspace)
    assert found_paths(workspace, "std::vector::push_back") == ["vector.md"]
    assert found_paths(workspace, "FTP.makeport") == ["ftplib.py"]


def test_method_is_found_by_the_units_that_its_breadcrumb_names(workspace):
    code = {"kind": "code"}
    for crumb in ("net.js > class Ftp > method make_port", "other.js > class Http > method make_port"):
        path = crumb.partition(" ")[0]
        write(workspace, path, chunk("  make_port() {\n  }", breadcrumb=crumb, **code), media="code")
    write(workspace, "use.js", chunk("make_port()", breadcrumb="use.js > function f", **code), media="code")
    sync(workspace)
    assert found_paths(workspace, "Ftp.make_port") == ["net.js"]
    *defining, using = found_paths(workspace, "make_port")
    assert (sorted(defining), using) == (["net.js", "other.js"], "use.js")


def test_name_that_is_a_common_word_is_found_where_code_declares_it(workspace, monkeypatch):
    monkeypatch.setattr(exact, "_COMMON", 2)
    for number in range(4):
        write(workspace, f"{number}.md", f"one or the other {number}")
    write(workspace, "operator.py", chunk("def or_(a, b):", breadcrumb="operator.py"))
    sync(workspace)
    assert found_paths(workspace, "or_") == ["operator.py"]


def test_declaration_is_found_among_more_uses_than_are_read(workspace, monkeypatch):
    monkeypatch.setattr(exact, "_READ", 2 * len(exact._DECLARING))
    write(workspace, "uses.md", *["get_it get_it get_it"] * 40)
    write(workspace, "code.py", chunk(f"{'word ' * 40}\ndef get_it():", breadcrumb="code.py"))
    sync(workspace)
    assert found_paths(workspace, "get_it")[0] == "code.py"


def test_word_alone_is_a_name_only_where_a_heading_or_code_has_it(workspace):
    write(workspace, "strtoul.md", below("strtoul, strtoull", "Converts: strtoul(text)."))
    write(workspace, "fruit.md", below("apple", "A fruit."))
    write(workspace, "prose.md", "strtoul is used here, strtoul it is.")
    sync(workspace)
    assert found_paths(workspace, "strtoul") == ["strtoul.md"]
    assert found_paths(workspace, "converts") == found_paths(workspace, "apple") == []


def test_hybrid_ranks_a_definition_above_frequent_mentions(workspace, set_embedder):
    set_embedder("hash")
    write(workspace, "uses.md", *(f"rate_limit rate_limit, rate_limit {number}" for number in range(30)))
    reference = below("rate_limit", "How often a caller may ask in one of many minutes.")
    write(workspace, "reference.md", reference)
    sync(workspace)
    embed(workspace)
    hit = ask(workspace, "rate_limit", Mode.HYBRID).hits[0]
    assert (hit.doc_path, hit.retrieval.exact_rank) == ("reference.md", 1)
    assert ask(workspace, "rate_limit", Mode.LEXICAL).hits[0].retrieval.exact_rank is None


def test_exact_leg_can_be_switched_off_by_the_query(workspace):
    fill(workspace)
    sync(workspace)
    embed(workspace)
    every = ask(workspace, "rate_limit", Mode.HYBRID, fusion="rrf")
    alone = ask(workspace, "rate_limit", Mode.HYBRID, fusion="rrf", exact=False)
    assert sum(hit.retrieval.exact_rank is not None for hit in every.hits) == 3
    assert alone.hits
    for hit in alone.hits:
        ranks = (hit.retrieval.lexical_rank, hit.retrieval.vector_rank)
        expected = sum(1 / (60 + rank) for rank in ranks if rank) / (2 / 61)
        assert (hit.retrieval.fusion_score, hit.retrieval.exact_rank) == (
            pytest.approx(expected, abs=1e-9),
            None,
        )


def test_exact_word_with_a_number_ranks_above_hits_of_the_number_alone(workspace, set_embedder):
    set_embedder("hash")
    parts = (below(f"Part 0 of {n}", "kestrel, or 0 of them", ordinal=n) for n in range(30))
    write(workspace, "parts.md", *parts)
    write(workspace, "note.md", "The word is kestrel0.")
    sync(workspace)
    embed(workspace)
    assert ask(workspace, "kestrel0", Mode.HYBRID).hits[0].doc_path == "note.md"


def test_exact_leg_without_results_does_not_change_fusion_scores(workspace, set_embedder):
    set_embedder("none")
    write(workspace, "a.md", "a rate and a limit")
    write(workspace, "b.md", below("deploy the server", "deploy the server"))
    sync(workspace)
    (hit,) = ask(workspace, "rate_limit limit", Mode.HYBRID).hits
    assert (hit.retrieval.exact_rank, hit.retrieval.fusion_score) == (None, 1.0)
    assert ask(workspace, "deploy the server", Mode.HYBRID).hits[0].retrieval.exact_rank is None
    with exact_leg(workspace, "deploy the server") as leg:
        assert not leg.has_names


def test_single_chinese_character_is_found_when_quoted(workspace):
    write(workspace, "a.md", "阅读部署指南")
    sync(workspace)
    assert found_paths(workspace, "「署」") == ["a.md"]
    assert paths(ask(workspace, "「署」", Mode.LEXICAL)) == ["a.md"]


@pytest.mark.parametrize("form", ["Here getUserName is number{:03}.", "def getUserName number{:03}"])
def test_choice_among_equal_scores_does_not_depend_on_the_order_of_arrival(workspace, form):
    """Compare a workspace with a copy: equal ids, but another order of rows in the mirror."""
    read = []
    for step in (1, -1):
        each = make_workspace(corpus_id=workspace.corpus_id)
        for first in range(0, 120, 40)[::step]:
            write(each, f"{first:03}.md", *(form.format(n) for n in range(first, first + 40)))
        sync(each)
        read.append(find(each, "getUserName", 500))
    there, back = map(scores_by_id, read)
    assert len(there) < 120
    assert there == back
