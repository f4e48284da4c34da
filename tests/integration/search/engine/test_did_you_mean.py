"""Suggestions for a query without results, from words that the caller may see."""

from functools import partial

from kebab.identity.reader import Reader
from search.access.scope import resolve_scope
from search.engine.corpus import mirror_source
from search.engine.did_you_mean import CorrectedQuery, correct_query, suggest_query
from search.engine.readback import read_passages
from search.mirror.query.view import MirrorView
from search.models import Chunk
from search.retrieval.query.filters import SearchFilters
from search.retrieval.types import Mode
from tests.support.corpus import write, write_each
from tests.support.search import ask, embed, paths, sync

SUGGESTIONS = {
    "configuraton": "configuration",
    "confgiuration": "configuration",
    "kubernets": "kubernetes",
    "ubernetes": "kubernetes",
    "nistallation": "installation",
    "xinstallation": "installation",
    "getColection": "getCollection",
    "ratelimit": "rate limit",
    "data base": "database",
    "data-base!": "database!",
    "configuraton of kubernets": "configuration of kubernetes",
    "ubre": "über",
    "úber": None,
    "zzzzzz": None,
    "ab": None,
    "configuration": None,
    "部暑": None,
    "'configuraton'": None,
    "": None,
    "hereaftr": None,  # a word of another version
}


def fill(workspace):
    write(workspace, "a.md", "The configuration of the database. Kubernetes runs it. Configuration matters.")
    write(workspace, "b.md", "Installation takes the getCollection call and a rate limit, über alles.")
    write(workspace, "a.md", "only hereafter", version="v2")


def suggest(workspace, text, **filters):
    scope = resolve_scope(workspace, SearchFilters(**filters), Reader())
    with mirror_source(workspace, scope).open() as view:
        return suggest_query(view, text, partial(read_passages, scope))


def test_suggestion_spells_the_words_as_the_corpus_does(filled, subtests):
    for query, suggestion in SUGGESTIONS.items():
        with subtests.test(query=query):
            assert suggest(filled, query) == suggestion


CORRECTIONS = {
    "configuraton of kubernetes": "configuration of kubernetes",
    "Configuraton Matters": "Configuration Matters",
    "confgiuratoin": "configuration",  # two errors in a long word
    "ratelimit": "rate limit",
    "databse": "database",
    "dtbase": "dtbase",  # two errors in a short one
    "rnus": "rnus",  # too short
    "configurations of the datum": "configurations of the datum",
    "hall of data": "hall of data",  # a word, although near `all`
    "the database of Kubernetis": "the database of Kubernetes",
    "install configurat*": "install configurat*",
    "KUBERNETIS of the database": "KUBERNETIS of the database",
    'the "databse"': 'the "databse"',
    "datab4se": "datab4se",
    "getColection": "getColection",
    "hereaftr": "hereaftr",  # a word of another version
    "'databse'": "'databse'",
    "database": "database",
    "": "",
}


def correct(workspace, text, **filters):
    scope = resolve_scope(workspace, SearchFilters(**filters), Reader())
    with mirror_source(workspace, scope).open() as view:
        return correct_query(view, text, partial(read_passages, scope), weights=(2.0, 1.0))


def test_unknown_words_are_corrected_where_that_is_safe(filled, subtests):
    for query, corrected in CORRECTIONS.items():
        with subtests.test(query=query):
            assert correct(filled, query).text == corrected
    assert correct(filled, "databse", path_glob=("b.md",)).text == "databse"


def test_word_unknown_under_the_filters_is_only_split(workspace):
    fill(workspace)
    write(workspace, "c.md", "The ratelimit of the databases, hinstallation.")
    sync(workspace)
    assert correct(workspace, "ratelimit").text == "ratelimit"
    assert correct(workspace, "ratelimit call", path_glob=("b.md",)).text == "rate limit call"
    assert correct(workspace, "hinstallation", path_glob=("b.md",)).text == "hinstallation"


def test_unfinished_last_word_matches_as_a_prefix(filled):
    unfinished = CorrectedQuery("install the confi", is_unfinished=True)
    assert correct(filled, "install the confi") == unfinished
    assert not correct(filled, "install the confi ").is_unfinished
    assert not correct(filled, "install the configuration").is_unfinished
    assert paths(ask(filled, "confi")) == ["a.md"]
    assert paths(ask(filled, "confi ")) == []
    assert paths(ask(filled, "insta", prefix=True)) == paths(ask(filled, "installatio")) == ["b.md"]


def test_operators_and_few_letters_leave_the_last_word_unfinished(filled):
    assert paths(ask(filled, "in", prefix=True)) == ["b.md"]
    for text, found in (("confi path:*.md", ["a.md"]), ("confi path:*.md ", [])):
        assert paths(ask(filled, text, operators=True)) == found
        assert paths(ask(filled, text, operators=True, typos=False, prefix=True)) == found


def test_last_word_counts_as_found_only_in_words_that_begin_with_it(workspace):
    write(workspace, "pass.md", "Show your pass at the gate, gate 1.")
    write(workspace, "severity.md", "A SEV1 incident, then SEV12.")
    sync(workspace)
    for text, path, tier in (
        ("pas", "pass.md", "all"),
        ("passwort", "pass.md", "some"),
        ("gate1", "pass.md", "all"),
        ("SEV1", "severity.md", "all"),
        ("sev1 in", "severity.md", "all"),
    ):
        best, *others = ask(workspace, text, typos=False, prefix=True).hits
        assert (best.doc_path, best.retrieval.tier) == (path, tier)
        assert "all" not in [hit.retrieval.tier for hit in others]


def test_search_answers_the_corrected_query_and_says_so(filled):
    result = ask(filled, "databse")
    assert (result.query, result.corrected_query, paths(result)) == ("databse", "database", ["a.md"])
    result = ask(filled, "databse", typos=False)
    assert (result.corrected_query, result.hits) == (None, ())
    assert ask(filled, "database").corrected_query is None


def test_another_form_of_a_word_is_searched_without_a_correction(workspace):
    write(workspace, "urlaub.md", "Der Urlaub wird beantragt, die Kündigungsfrist beträgt drei Monate.")
    sync(workspace)
    for text, corrected in (
        ("Urlaub beantrage", None),
        ("Kündigungsfristen", None),
        ("Kündigungsfirst", "Kündigungsfrist"),
        ("Kündigungsfirst beantrage", "Kündigungsfrist beantrage"),
    ):
        result = ask(workspace, text)
        assert (text, result.corrected_query) == (text, corrected)
        assert paths(result) == ["urlaub.md"]


def test_corrected_query_is_embedded(workspace):
    fill(workspace)
    sync(workspace)
    embed(workspace)
    misspelt, right = (ask(workspace, text, Mode.HYBRID) for text in ("databse", "database"))
    assert [hit.retrieval for hit in misspelt.hits] == [hit.retrieval for hit in right.hits]


def test_spelling_suggestion_is_made_only_for_empty_results(filled):
    result = ask(filled, "kubrenetes databse", typos=False)
    assert (result.query, result.hits) == ("kubrenetes databse", ())
    assert result.did_you_mean == "kubernetes database"
    assert ask(filled, "kubrenetes configuration").did_you_mean is None


def test_words_outside_the_filters_are_not_suggested(filled):
    assert suggest(filled, "kubernets", path_glob=("b.md",)) is None
    assert suggest(filled, "kubernets", path_glob=("a.md",)) == "kubernetes"
    assert suggest(filled, "hereaftr", version=("v2",)) == "hereafter"


def test_word_that_postgres_no_longer_has_is_not_suggested(filled):
    Chunk.objects.in_workspace(filled).filter(text__contains="Kubernetes").delete()
    assert suggest(filled, "kubernets") is None


def test_names_are_corrected_that_no_chunk_has(workspace):
    write(workspace, "people.md", "Leonard Shelby runs the desk. Jürgen Krämer helps.")
    sync(workspace)
    assert correct(workspace, "contact Chelby").text == "contact Shelby"
    assert correct(workspace, "Anruf bei Krämmer").text == "Anruf bei Krämer"
    assert correct(workspace, "contact SHELLBY").text == "contact SHELLBY"


def test_near_identifier_is_offered_and_not_searched_for(workspace, subtests):
    write(workspace, "a.md", "Rechnung INV-1263 is paid, PR 88123/2024 and the part AB4711C are not.")
    sync(workspace)
    cases = [
        ("invoice INV-1236", "invoice INV-1263"), ("INV-1264", "INV-1263"), ("INV-1263", None),
        ("AB4712C", "AB4711C"), ("part AB4712C", "part AB4711C"), ("INV-9876", None), ("INV-12", None),
    ]  # fmt: skip
    for query, offered in cases:
        with subtests.test(query=query):
            result = ask(workspace, query)
            assert (result.did_you_mean, result.corrected_query) == (offered, None)


def test_interrupted_mirror_suggests_nothing(filled, monkeypatch):
    assert suggest(filled, "kubernets") == "kubernetes"
    monkeypatch.setattr("search.mirror.query.view._STEPS", 1)
    monkeypatch.setattr(MirrorView, "is_late", lambda view: True)
    assert suggest(filled, "kubernets") is None


def test_workspace_without_a_change_suggests_nothing(workspace):
    assert suggest(workspace, "kubernets") is None


def test_nearer_word_comes_before_the_commoner_one(workspace):
    write_each(workspace, ["contents and contents"] * 3)
    write(workspace, "a.md", "a context of it")
    sync(workspace)
    assert suggest(workspace, "contexxt") == "context"
    assert suggest(workspace, "contesnt") == "contents"


def test_suggestion_prefers_the_more_frequent_of_equally_near_words(workspace):
    write_each(workspace, ["the table", "a table", "a cable"])
    sync(workspace)
    assert suggest(workspace, "tabel") == "table"
    assert suggest(workspace, "xable") == "table"


def test_word_is_found_behind_chunks_with_other_forms_of_it(workspace):
    write_each(workspace, ["except this"] * 10)
    write(workspace, "z.md", "an exception")
    sync(workspace)
    assert suggest(workspace, "excepton") == "exception"
