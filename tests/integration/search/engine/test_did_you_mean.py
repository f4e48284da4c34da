"""A query that found nothing may have been meant otherwise, in words that the caller may see."""

import pytest

from kebab.people.reader import Reader
from search.did_you_mean import did_you_mean
from search.engine import mirror_reading
from search.mirror.reading import MirrorReading
from search.models import Chunk
from search.retrieval.filters import SearchFilters
from search.retrieval.types import Mode
from search.scope import resolve_scope
from tests.support.corpus import write, write_each
from tests.support.searching import ask, sync


def meant(workspace, text, **filters):
    return did_you_mean(
        mirror_reading(workspace, resolve_scope(workspace, SearchFilters(**filters), Reader())), text
    )


@pytest.fixture
def corpus(workspace):
    write(workspace, "a.md", "The configuration of the database. Kubernetes runs it. Configuration matters.")
    write(workspace, "b.md", "Installation takes the getCollection call and a rate limit, über alles.")
    sync(workspace)
    return workspace


@pytest.mark.parametrize(
    ("query", "suggestion"),
    [
        ("configuraton", "configuration"),
        ("confgiuration", "configuration"),
        ("kubernets", "kubernetes"),
        ("ubernetes", "kubernetes"),
        ("nistallation", "installation"),
        ("xinstallation", "installation"),
        ("getColection", "getCollection"),
        ("ratelimit", "rate limit"),
        ("data base", "database"),
        ("data-base!", "database!"),
        ("configuraton of kubernets", "configuration of kubernetes"),
        ("ubre", "über"),
        ("úber", None),
        ("zzzzzz", None),
        ("ab", None),
        ("configuration", None),
        ("部暑", None),
        ("'configuraton'", None),
        ("", None),
    ],
)
def test_a_query_is_suggested_with_its_words_as_the_corpus_spells_them(corpus, query, suggestion):
    assert meant(corpus, query) == suggestion


def test_a_search_suggests_and_does_not_change_the_query(corpus):
    result = ask(corpus, "kubrenetes databse", Mode.LEXICAL)

    assert (result.query, result.hits) == ("kubrenetes databse", ())
    assert result.did_you_mean == "kubernetes database"


def test_a_search_that_found_something_suggests_nothing(corpus):
    assert ask(corpus, "kubrenetes configuration", Mode.LEXICAL).did_you_mean is None


def test_the_nearer_word_comes_before_the_commoner_one(workspace):
    write_each(workspace, ["contents and contents"] * 3)
    write(workspace, "a.md", "a context of it")
    sync(workspace)

    assert meant(workspace, "contexxt") == "context"
    assert meant(workspace, "contesnt") == "contents"


def test_the_commoner_of_equally_near_words_is_meant(workspace):
    write_each(workspace, ["the table", "a table", "a cable"])
    sync(workspace)

    assert meant(workspace, "tabel") == "table"
    assert meant(workspace, "xable") == "table"


def test_a_word_is_found_behind_chunks_with_other_forms_of_it(workspace):
    write_each(workspace, ["except this"] * 10)
    write(workspace, "z.md", "an exception")
    sync(workspace)

    assert meant(workspace, "excepton") == "exception"


def test_words_outside_the_filters_are_not_suggested(corpus):
    assert meant(corpus, "kubernets", path_glob=("b.md",)) is None
    assert meant(corpus, "kubernets", path_glob=("a.md",)) == "kubernetes"


def test_words_of_other_versions_are_not_suggested(corpus):
    write(corpus, "a.md", "only hereafter", version="v2")
    sync(corpus)

    assert meant(corpus, "hereaftr") is None
    assert meant(corpus, "hereaftr", version=("v2",)) == "hereafter"


def test_a_word_that_postgres_has_no_more_is_not_suggested(corpus):
    Chunk.objects.in_workspace(corpus).filter(text__contains="Kubernetes").delete()

    assert meant(corpus, "kubernets") is None


def test_no_time_no_suggestion(corpus, monkeypatch):
    import apsw

    def interrupted(reading):
        raise apsw.InterruptError("late")

    monkeypatch.setattr(MirrorReading, "connection", interrupted)

    assert meant(corpus, "kubernets") is None


def test_a_node_without_a_mirror_suggests_nothing(workspace):
    assert meant(workspace, "kubernets") is None
