"""Strings of pages: all of them go through gettext, and have a translation in each language."""

import ast
import html
import re
from io import BytesIO
from operator import attrgetter

import pytest
from babel.messages.mofile import write_mo

from tests.support.catalogues import (
    LANGUAGES,
    PACKAGES,
    missing_translations,
    po_path,
    read_catalogue,
    template_paths,
    update_catalogue,
)
from tests.support.paths import ROOT

#: Words that are the same in every language: names, keys, the prefix of tokens, a class.
SAME = frozenset({"Kebab", "Ctrl", "Esc", "Enter", "ms", "kbb", "kbp", "framed", "id", "Markdown", "PDF"})
TRANSLATED = re.compile(
    r"\{%-?\s*blocktrans(?:late)?\b.*?\{%-?\s*endblocktrans(?:late)?\s*-?%\}|\{%.*?%\}|\{\{.*?\}\}|\{#.*?#\}",
    re.DOTALL,
)
#: Attributes that people read.
READ = re.compile(r'\b(?:title|alt|placeholder|aria-label|data-label|label)="([^"]*)"')
TAGS = re.compile(r"<(script|style|code|kbd|pre)\b.*?</\1>|<!--.*?-->|<!doctype[^>]*>|<[^>]*>", re.DOTALL)
WORD = re.compile(r"[^\W\d_]{2,}")
#: Keywords of forms whose values are shown.
LABELS = frozenset({"label", "help_text", "empty_label"})
#: Calls whose second argument is shown.
FLASHES = frozenset({"success", "info", "warning", "error"})


def shown_words(source):
    """Return the words of a template that are written into it outside of gettext."""
    rest = TRANSLATED.sub(" ", source)
    texts = [*READ.findall(rest), html.unescape(TAGS.sub(" ", rest))]
    return [word for text in texts for word in WORD.findall(text) if word not in SAME]


@pytest.mark.parametrize("path", template_paths(), ids=lambda path: str(path.relative_to(ROOT)))
def test_template_words_go_through_gettext(path):
    assert shown_words(path.read_text()) == []


def test_words_outside_of_gettext_are_found():
    assert shown_words('<p title="{{ x }}">{% translate "Fine" %} {{ y }} 3 ms</p>') == []
    assert shown_words('<p title="Odd">{% translate "Fine" %} very <b>odd</b></p>') == ["Odd", "very", "odd"]


def test_labels_and_messages_of_pages_go_through_gettext():
    modules = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py") if is_of_pages(path)]
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in modules
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and any(map(is_plain_text, shown_arguments(node)))
    ]

    assert found == []


def is_of_pages(path):
    parts = path.relative_to(ROOT).parts
    return "pages" in parts or parts[:2] == ("kebab", "accounts")


def shown_arguments(call):
    """Yield the arguments of a call that a page shows: labels of fields, texts of messages."""
    yield from (each.value for each in call.keywords if each.arg in LABELS)
    function = call.func
    if isinstance(function, ast.Attribute) and function.attr in FLASHES and len(call.args) > 1:
        yield call.args[1]


def is_plain_text(value):
    text = value.value if isinstance(value, ast.Constant) else "f" if isinstance(value, ast.JoinedStr) else ""
    return isinstance(text, str) and bool(WORD.search(text) or text == "f") and text not in SAME


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_message_is_translated(language):
    assert missing_translations(language) == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_catalogue_is_what_make_messages_writes(language):
    stored, written = read_catalogue(language), update_catalogue(language)
    compiled = BytesIO()
    write_mo(compiled, written)

    assert {message.id for message in stored} == {message.id for message in written}
    assert po_path(language).with_suffix(".mo").read_bytes() == compiled.getvalue()


@pytest.mark.parametrize("language", LANGUAGES)
def test_translations_have_the_placeholders_of_their_message(language):
    placeholder = re.compile(r"%\(\w+\)[sd]|<[^>]+>")
    for message in filter(attrgetter("id"), read_catalogue(language)):
        originals, strings = (
            [set(placeholder.findall(text)) for text in ([texts] if isinstance(texts, str) else texts)]
            for texts in (message.id, message.string)
        )
        # Of a message with a plural the singular may leave out the number.
        least, most = set.intersection(*originals), set.union(*originals)
        assert all(least <= found <= most for found in strings), message.id
