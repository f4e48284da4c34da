"""Search as you type in a library, from the third letter on."""

import pytest

from kebab.identity.reader import Reader
from search.libraries.library import choose_library
from search.libraries.snippets import SnippetPage, search_snippets
from tests.support.corpus import chunk, write
from tests.support.search import sync

WORDS = (
    "configuration routing happily organisations RATE_LIMIT_TRUSTED_PROXY getUserById next.js foo-bar "
    "path/to/file @angular/core useEffect() résumé 部署指南 설정방법을 C++ relational"
)


@pytest.fixture
def find_snippets(workspace):
    write(workspace, "words.md", chunk(WORDS, heading="Words"))
    write(workspace, "other.md", chunk("Testing a parser of nothing in particular."))
    write(workspace, "old.md", "configurable", version="v1")
    sync(workspace)
    library = choose_library(workspace, Reader(), "/local/docs")

    def find(text, **page):
        found = search_snippets(workspace, Reader(), library, text, SnippetPage(**page))
        return [snippet.text for snippet in found.snippets]

    return find


def test_every_beginning_of_a_word_finds_it(find_snippets, subtests):
    for word in WORDS.split():
        first = 3 + word.startswith("@")
        for end in {first, max(first, len(word) - 1), len(word)}:
            with subtests.test(typed=word[:end]):
                assert find_snippets(word[:end]) == [WORDS]
    for word in ("routing", "next.js"):
        for end in range(3, len(word) + 1):
            with subtests.test(typed=word[:end]):
                assert find_snippets(word[:end]) == find_snippets(f"path {word[:end]}") == [WORDS]
                assert find_snippets(f"parser {word[:end]}") == []
    for sign in "部署南설을":
        with subtests.test(sign=sign):
            assert find_snippets(sign) == find_snippets(f"{sign} happily") == [WORDS]


def test_text_that_begins_no_word_finds_nothing(find_snippets, subtests):
    unknown = "configurab routix testix next.q getUserByName RATE_LIMIT_X 部署充 充 ab zzz"
    expressions = ["zzz OR configura", '"configura"', "configura* OR zzz", '"of" testi*x']
    for text in (*unknown.split(), *expressions):
        with subtests.test(text=text):
            assert find_snippets(text) == []


def test_limit_and_offset_page_through_the_snippets(workspace, find_snippets):
    texts = [f"Organising {'and ' * number}resources" for number in range(5)]
    for number, text in enumerate(texts):
        write(workspace, f"{number}.md", chunk(text, heading="Page"))
    sync(workspace)
    whole = find_snippets("organisi")
    assert sorted(whole) == sorted(texts)
    assert find_snippets("organisi", limit=2) == whole[:2]
    assert find_snippets("organisi", limit=2, offset=1) == whole[1:3]
    assert find_snippets("organisi", offset=5) == find_snippets("configur", offset=1) == []
