"""Hidden documents don't count: answers equal an index without them."""

import random
from dataclasses import replace
from itertools import count

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from kebab.identity.models import Group
from kebab.identity.reader import Reader
from search.access.scope import resolve_scope
from search.engine.corpus import mirror_source
from search.engine.search import search
from search.engine.suggest import suggest
from search.mirror.postings import Collection
from search.mirror.query.spelling import Vocabulary
from search.models import Source
from search.retrieval.query.filters import SearchFilters
from search.retrieval.types import Fusion, Mode, SearchQuery
from tests.support.corpus import chunk, make_workspace, restrict, write
from tests.support.search import embed, sync

KEYS = ["alpha", "beta", "gamma"]
WORDS = [
    "image",
    "images",
    "worker",
    "restart",
    "restarting",
    "token",
    "rate limit",
    "get_user()",
    "部署指南",
    "one",
]
QUERIES = [
    "image worker",
    "restart the images one by one",
    '"image worker"',
    "get_user() token",
    "部署",
    "'rest*'",
    "'image OR \"rate limit\"'",
    "'breadcrumb : wor*'",
    "imgae",
    "ratelimit",
    " ".join(f"{word}{n}" for word in ("image", "token", "rate") for n in range(12)),
]


def text(rolls):
    return " ".join(rolls.choice(WORDS) for _ in range(rolls.randint(3, 12)))


def answer(workspace, reader, query):
    """Return an answer without change numbers and vector versions."""
    result = search(workspace, query, reader=reader)
    hits = [replace(hit, index_version="", indexed_at=None, date=None) for hit in result.hits]
    explained = {name: each for name, each in (result.explain or {}).items() if name != "timings_ms"}
    facts = (
        result.lexical_total,
        result.vector_window,
        result.did_you_mean,
        result.degraded,
        result.warnings,
    )
    return hits, facts, explained


def most_common(workspace, beginning, limit):
    scope = resolve_scope(workspace, SearchFilters(), Reader())
    with mirror_source(workspace, scope).open() as view:
        return Vocabulary(view).most_common_terms(beginning, (), limit)


@pytest.fixture
def pair(workspace):
    """Create a workspace with a restricted source and its twin without it, and a writer to both."""
    twin = make_workspace(corpus_id=workspace.corpus_id)
    Source.objects.create(workspace=workspace, key="hidden", kind="upload", is_restricted=True)
    numbers = count()

    def fill(texts, hidden, **fields):
        for each in texts:
            path = f"{next(numbers)}.md"
            for one in (workspace, twin):
                write(one, path, each)
        for each in hidden:
            write(workspace, f"{next(numbers)}.md", each, source="hidden", **fields)
        for one in (workspace, twin):
            sync(one)
        return workspace, twin

    return fill


def test_hidden_words_displace_no_completion(pair):
    hidden = [f"restart{chr(97 + n)}x restart{chr(97 + n)}x" for n in range(26)] * 3
    both = pair(["restored"], hidden)
    found, expected = (suggest(each, "rest", reader=Reader()).suggestions for each in both)
    assert [each.text for each in found] == [each.text for each in expected] == ["restored"]


def test_completions_are_ordered_by_readable_documents(pair):
    both = pair(["restored", "restored", "restart"], ["restart"] * 5)
    found, expected = (suggest(each, "rest", reader=Reader()).suggestions for each in both)
    assert [each.text for each in found] == [each.text for each in expected] == ["restored", "restart"]


def test_counting_of_common_words_stops_early(pair, monkeypatch):
    monkeypatch.setattr("search.mirror.query.spelling._NARROWED", 2)
    words = [f"rest{letter}" for letter in "abcdfghk"]
    visible = [" ".join(words[: 8 - number]) for number in range(8)]  # resta in 8 chunks, restk in one
    full, twin = pair(visible, ["resta restx", "resth restx", "restx"])
    counted = []
    frequencies = Collection.frequencies

    def counting_frequencies(collection, connection, terms):
        counted.append(list(terms))
        return frequencies(collection, connection, terms)

    monkeypatch.setattr(Collection, "frequencies", counting_frequencies)
    for limit in (1, 3, 20):
        found = [most_common(each, "rest", limit) for each in (full, twin)]
        assert found == [words[:limit]] * 2
    first, *_ = counted
    assert first == ["resta", "restb"]
    assert len(counted) == 1 + 2 + 5  # nine words have the prefix, two at a time


def test_hidden_words_displace_no_spelling_suggestion(pair):
    hidden = [f"restar{letter}" for letter in "abcdefghijklmnop"] * 2
    both = pair(["restart"], hidden)
    assert_spelt(both, "restarq", "restart")


def test_spelling_suggestion_is_the_more_frequent_one_among_readable_documents(pair):
    both = pair(["winter", "winter", "winder"], ["winder"] * 5)
    assert_spelt(both, "winber", "winter")


def assert_spelt(both, typed, meant):
    found, expected = (search(each, SearchQuery(text=typed, mode=Mode.LEXICAL)) for each in both)
    assert found.corrected_query == expected.corrected_query == meant
    query = SearchQuery(text=typed, mode=Mode.LEXICAL, typos=False)
    found, expected = (search(each, query) for each in both)
    assert found.did_you_mean == expected.did_you_mean == meant


def test_beginning_stands_for_the_most_common_readable_words(pair, monkeypatch):
    monkeypatch.setattr("search.mirror.query.lexical._COMPLETIONS", 1)
    both = pair(["winter", "winter", "window"], ["window"] * 5)
    query = SearchQuery(text="win", mode=Mode.LEXICAL, explain=True)
    found, expected = (search(each, query) for each in both)
    assert len(found.hits) == len(expected.hits) == 2
    assert found.explain["match"] == expected.explain["match"]


def test_hidden_documents_make_no_name_a_common_word(pair, monkeypatch):
    monkeypatch.setattr("search.mirror.query.exact._COMMON", 3)
    both = pair(["call astro() here", "nothing"], ["astro"] * 5)
    query = SearchQuery(text="astro()", explain=True)
    found, expected = (search(each, query).explain["legs"]["exact"] for each in both)
    assert found == expected != []


def test_main_language_is_computed_from_readable_documents(workspace):
    twin = make_workspace(corpus_id=workspace.corpus_id)
    Source.objects.create(workspace=workspace, key="hidden", kind="upload", is_restricted=True)
    for each in (workspace, twin):
        for number, lang in enumerate(["en", "en", "de"]):
            write(each, f"{number}.md", f"call astro() here {number}", lang=lang)
        sync(each)
    for number in range(9):
        write(workspace, f"h{number}.md", "astro", source="hidden", lang="de")
    sync(workspace)
    query = SearchQuery(text="astro()", explain=True)
    found, expected = (search(each, query).explain["legs"]["exact"] for each in (workspace, twin))
    assert found == expected
    assert len({each["score"] for each in expected}) == 2


def test_long_query_keeps_the_terms_that_are_rare_in_readable_documents(pair):
    """Treat a term from hidden sources only like an unknown one, which is dropped first."""
    words = [f"word{n}" for n in range(260)]
    both = pair([" ".join(words)] * 2, ["canaryword " * 2] + [" ".join(words[:20])] * 5)
    query = SearchQuery(text=" ".join(["canaryword", *words]), mode=Mode.LEXICAL, explain=True)
    found, expected = (search(each, query).explain["match"] for each in both)
    assert found == expected
    assert "canaryword" not in found["every"]


@pytest.fixture
def groups(workspace):
    return [Group.objects.create(workspace=workspace, name=f"g{n}") for n in range(2)]


@pytest.mark.slow
@settings(
    max_examples=8,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # shrinking takes minutes
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    seed=st.integers(0, 10_000),
    readers=st.dictionaries(st.sampled_from(KEYS), st.sets(st.integers(0, 1)), min_size=1),
    mine=st.sets(st.integers(0, 1)),
    fusion=st.sampled_from(Fusion),
)
def test_answer_equals_one_from_an_index_of_readable_documents(
    workspace, groups, seed, readers, mine, fusion
):
    rolls = random.Random(seed)
    full = make_workspace()
    readable_alone = make_workspace(corpus_id=full.corpus_id)
    readable = [key for key in KEYS if key not in readers or readers[key] & mine]
    for number in range(24):
        key, fields = rolls.choice(KEYS), {"heading": text(rolls)}
        chunks = [chunk(text(rolls), ordinal, **fields) for ordinal in range(rolls.randint(1, 3))]
        lang, version = rolls.choice(["en", "de"]), rolls.choice(["", "", "v1"])
        for each in (full, readable_alone) if key in readable else (full,):
            write(each, f"{number}.md", *chunks, source=key, version=version, lang=lang, title=f"T{number}")
    of_full = [Group.objects.create(workspace=full, name=group.name) for group in groups]
    for key, numbers in readers.items():
        source, _ = Source.objects.get_or_create(workspace=full, key=key, kind="upload")
        restrict(source, *(of_full[number] for number in numbers))
    for each in (full, readable_alone):
        sync(each)
        embed(each)
    reader = Reader(groups=frozenset(of_full[number].pk for number in mine))

    for words in QUERIES:
        for mode in Mode:
            query = SearchQuery(text=words, mode=mode, k=50, fusion=fusion, explain=True)
            assert answer(full, reader, query) == answer(readable_alone, Reader(), query), (words, mode)
        narrowed = SearchQuery(
            text=words, k=50, filters=SearchFilters(source=("alpha", "beta"), lang=("en",))
        )
        assert answer(full, reader, narrowed) == answer(readable_alone, Reader(), narrowed), words
    for typed in ("re", "image", "image re", "ge", "部", "one t"):
        assert suggest(full, typed, reader=reader) == suggest(readable_alone, typed, reader=Reader()), typed
