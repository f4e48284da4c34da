"""The stages of a query that read its text, and kinds of text that were made to slow them down."""

import re
from contextlib import suppress
from itertools import product

from search.analysis import STEMMED, analyse
from search.analysis import tokens as token_module
from search.embedders.base import SpaceIdentity
from search.embedders.query_language import knows_language
from search.libraries.snippets import parse_unfinished_word, plain_terms, prefix_expression
from search.mirror.query.match import compile_match
from search.mirror.query.spelling import spellings, split_word
from search.pages.document.query_words import QueryWords
from search.retrieval.code.definitions import IndexedPassage, NameQuery, rank_passages
from search.retrieval.errors import InvalidGlob, InvalidQuery
from search.retrieval.query.completion import TypedText
from search.retrieval.query.exact import exact_terms, exact_weight, lone_name
from search.retrieval.query.glob import MAX_PATTERN_CHARS, compile_glob
from search.retrieval.query.operators import parse_operators
from search.retrieval.query.parser import check_prefixes, check_size, parse_query, raw_units
from search.retrieval.query.plain_match import build_plain_match, content_units, marked_units
from search.retrieval.query.rules import compile_rules
from search.retrieval.query.stopwords import content_terms, is_stop_word
from search.retrieval.query.titles import label, title_keys
from search.retrieval.text.plain_text import PlainText
from search.retrieval.text.snippet import SnippetBuilder
from search.retrieval.text.unicode_scripts import RUN, count_words, fold, words_of
from search.retrieval.types import SearchQuery

_MODEL = SpaceIdentity(model="any", revision="1", dim=1, quantisation="none", languages=("en",))
_TEXT = "A text about the words of aa, ab and ac, in C++: a-b, 1,200 and صلى الله. " * 4
_RULES = compile_rules(
    [
        {"kind": "synonyms", "is_active": True, "words": ["aaaa aaab", "banana"], "means": []},
        {"kind": "stop_words", "is_active": True, "words": ["aaac"]},
        {
            "kind": "pin",
            "is_active": True,
            "queries": ["banana aaad"],
            "match": "contains",
            "documents": ["0" * 32],
        },
    ]
)


class _EmptyVocabulary:
    """A vocabulary of an index without chunks."""

    analysis = STEMMED

    def chunk_counts(self, terms):
        return dict.fromkeys(list(terms)[:0], 0)

    def prefix_counts(self, prefixes, *, select):
        return dict.fromkeys(select(list(prefixes)[:0]), 0)

    def sample(self, expression, limit):
        return []


def _frequencies(terms):
    return {term: number for number, term in enumerate(terms, start=1)}


def _check_raw(text):
    with suppress(InvalidQuery):
        check_size(text)
        check_prefixes(text)
    return raw_units(text[:2_000], STEMMED)


def _match_glob(text):
    with suppress(InvalidGlob):
        return compile_glob(text[:MAX_PATTERN_CHARS]).matches(text)


def _spell(text):
    for run in RUN.findall(text)[:4]:
        spellings(_EmptyVocabulary(), run)
        split_word(_EmptyVocabulary(), run)


def _rank_names(text):
    names = [NameQuery(name) for name in exact_terms(text)]
    passage = IndexedPassage(chunk_id="0" * 32, breadcrumb="A > B", text=_TEXT)
    return names and rank_passages(names, [passage])


def _mark_snippet(text):
    units, language = marked_units(text, STEMMED)
    return SnippetBuilder(units, STEMMED, language).build(PlainText(_TEXT), 220)


def _complete(text):
    typed = TypedText(text)
    return typed.words and (typed.begins_words_of(_TEXT), typed.sort_key(_TEXT))


def _read_unfinished_word(text):
    word = parse_unfinished_word(text[:1_000])
    return word and word.begins_words_of(_TEXT)


#: By name; each is called with the whole text of a query.
STAGES = {
    "query": lambda text: SearchQuery(text=text),
    "fold": fold,
    "words": lambda text: (words_of(text), count_words(text)),
    "analysis": analyse,
    # It reads texts of 500 characters.
    "operators": lambda text: parse_operators(text[: len(text) * 4 // 5], STEMMED),
    "parser": parse_query,
    "raw query": _check_raw,
    "plain match": lambda text: build_plain_match(parse_query(text).terms, STEMMED, _frequencies, _RULES),
    "match": lambda text: _ignore_invalid(compile_match, text, _frequencies),
    "completed match": lambda text: _ignore_invalid(
        compile_match, text, _frequencies, complete=lambda word, others: ()
    ),
    "content": lambda text: content_units(parse_query(text).terms, STEMMED),
    "snippet": _mark_snippet,
    "names": lambda text: (exact_terms(text), exact_weight(text, ["a"]), lone_name(text)),
    "namesakes": _rank_names,
    "titles": lambda text: (title_keys(text), label(text), label(text, is_unfinished=True)),
    "spelling": _spell,
    "completion": _complete,
    "rules": lambda text: (_RULES.expand(text), _RULES.pinned(text)),
    "language": lambda text: knows_language(_MODEL, text),
    "stop words": lambda text: (content_terms(text.split()), is_stop_word(text, None)),
    "glob": _match_glob,
    "library query": lambda text: (plain_terms(text), prefix_expression(text)),
    "unfinished word": _read_unfinished_word,
    "marked page": lambda text: QueryWords(text, "en").mark(f"<p>{_TEXT}</p>"),
}


def _ignore_invalid(compile_, *given, **options):
    with suppress(InvalidQuery):
        return compile_(*given, **options)


_WORDS = ["".join(letters) for letters in product("abcdefghij", repeat=4)]

#: By name: what is repeated to the wanted length.
_REPEATED = {
    "formula": "\ufdfa",
    "formula words": "\ufdfa ",
    "formula of eight": "\ufdfb",
    "numbers in brackets": "⑴",
    "fractions": "½",
    "ligatures": "\ufb03",
    "full width": "Ａｂ",
    "half-width kana": "ｶﾞﾊﾟ",
    "squared words": "㌀㌕",
    "bold": "𝐀",
    "roman numbers": "Ⅷ",
    "dotted capital": "İ",
    "sharp s": "ß",
    "marks": "e\u0301\u0302\u0303",
    "marks alone": "\u0301",
    "marked letters": "ệ",
    "jamo": "\u1112\u1161\u11ab",
    "syllables": "한국어",
    "characters": "部署指南",
    "kana": "カタカナ",
    "Thai": "ภาษาไทย",
    "Thai with am": "กำ",
    "tatweel": "ك\u0640ت\u0640اب ",
    "points": "שָׁלוֹם ",
    "Devanagari": "नमस्ते ",
    "other direction": "\u202eabc\u202c ",
    "soft hyphens": "a\u00ad",
    "joiners": "\u200d",
    "joined emoji": "👩\u200d👧\u200d",
    "flags": "🇩🇪",
    "skins": "👍🏽",
    "variations": "☂\ufe0f",
    "long run": "a",
    "digits": "9",
    "thousands": "123,",
    "spaced thousands": "1\u202f",
    "hyphens": "a-",
    "hyphens alone": "-",
    "dots": "a.",
    "low lines": "a_",
    "paths": "/a",
    "apostrophes": "l'e",
    "quotes": '"',
    "curly quotes": "“a„",
    "angle quotes": "«a ",
    "brackets": "f([{",
    "angle brackets": "<a",
    "backticks": "`a` ",
    "colons": "a::",
    "stars": "a* ",
    "exclusions": "-abc ",
    "filters": "path:abc ",
    "required": '"ab" ',
    "titles": 'title:"a',
    "camel case": "aB",
    "capitalised parts": "Abcd",
    "C++": "c++ ",
    "plus signs": "+",
    "NET": ".net",
    "one word": "banana ",
    "letters": "a b ",
    "line breaks": "中\n",
    "private": "\ue000",
    "replaced": "\ufffd",
    "NUL": "\0a",
}


def _repeat(piece):
    return lambda size: (piece * (size // len(piece) + 1))[:size]


#: By name: a function that returns a text of a length.
KINDS = {name: _repeat(piece) for name, piece in _REPEATED.items()} | {
    "distinct words": lambda size: " ".join(_WORDS)[:size],
    "distinct codes": lambda size: " ".join(f"x{number}" for number in range(size))[:size],
    "distinct paths": lambda size: "/".join(_WORDS)[:size],
    "distinct phrases": lambda size: " ".join(f'"{word} b"' for word in _WORDS)[:size],
    "distinct names": lambda size: " ".join(f"{word}()" for word in _WORDS)[:size],
    "distinct characters": lambda size: "".join(map(chr, range(0x4E00, 0x4E00 + min(size, 20_000)))),
    "raw words": lambda size: f"'{' OR '.join(_WORDS)[: size - 2]}'",
    "raw prefixes": lambda size: f"'{'abc* ' * (size // 5)}'",
    "nested quotes": lambda size: "'" * (size // 2) + '"' * (size // 2),
}


def clear_caches():
    """Empty all caches, so that each text costs what it costs the first time."""
    re.purge()
    fold.cache_clear()
    for cache in token_module._run_caches.values():
        cache.clear()
    for cached in ("analyse", "query_terms", "relaxed_terms", "word_tokens", "_form_terms"):
        getattr(token_module, cached).cache_clear()
