"""A library's snippets, letter by letter: whoever types a word sees what has it from the third letter on."""

import pytest

from kebab.people.reader import Reader
from search.libraries.library import choose_library
from search.libraries.snippets import SnippetPage, search_snippets
from tests.support.corpus import chunk, write
from tests.support.searching import sync

WORDS = (
    "configuration routing happily organisations RATE_LIMIT_TRUSTED_PROXY getUserById next.js foo-bar "
    "path/to/file @angular/core useEffect() résumé 部署指南 설정방법을 C++ relational"
)


@pytest.fixture
def library(workspace):
    write(workspace, "words.md", chunk(WORDS, heading="Words"))
    write(workspace, "other.md", chunk("Testing a parser of nothing in particular."))
    write(workspace, "old.md", "configurable", version="v1")
    sync(workspace)
    return choose_library(workspace, Reader(), "/local/docs")


@pytest.fixture
def typed(workspace, library):
    def find(text, **page):
        found = search_snippets(workspace, Reader(), library, text, SnippetPage(**page))
        return [snippet.text for snippet in found.snippets]

    return find


@pytest.mark.parametrize("word", WORDS.split())
def test_every_beginning_of_a_word_finds_it(typed, word):
    for end in range(3 + word.startswith("@"), len(word) + 1):
        assert typed(word[:end]) == [WORDS], word[:end]


@pytest.mark.parametrize("word", ["configuration", "routing", "getUserById", "next.js"])
def test_so_it_does_behind_other_words(typed, word):
    for end in range(3, len(word) + 1):
        assert typed(f"path {word[:end]}") == [WORDS]
        assert typed(f"parser {word[:end]}") == []


@pytest.mark.parametrize("sign", ["部", "署", "南", "설", "을"])
def test_one_sign_of_a_script_without_spaces_is_enough(typed, sign):
    assert typed(sign) == [WORDS]
    assert typed(f"{sign} happily") == [WORDS]
    assert typed("充") == []


@pytest.mark.parametrize(
    "text",
    ["configurab", "routix", "testix", "next.q", "getUserByName", "RATE_LIMIT_X", "部署充", "ab", "zzz"],
)
def test_what_begins_no_word_finds_nothing(typed, text):
    assert typed(text) == []


@pytest.mark.parametrize("text", ["zzz OR configura", '"configura"', "configura* OR zzz", '"of" testi*x'])
def test_who_writes_an_expression_is_taken_at_the_word(typed, text):
    assert typed(text) == []


def test_a_page_of_what_was_looked_through_is_a_part_of_it(workspace, typed):
    texts = [f"Organising {'and ' * number}resources" for number in range(5)]
    for number, text in enumerate(texts):
        write(workspace, f"{number}.md", chunk(text, heading="Page"))
    sync(workspace)
    whole = typed("organisi")

    assert sorted(whole) == sorted(texts)
    assert typed("organisi", limit=2) == whole[:2]
    assert typed("organisi", limit=2, offset=1) == whole[1:3]
    assert typed("organisi", offset=5) == typed("configur", offset=1) == []
