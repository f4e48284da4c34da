"""Catalogues of translations: messages of templates and code, in the .po and .mo files of each language.

`make messages` runs it: new messages are added without a translation, unused ones are removed.
"""

import ast
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from babel.messages import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from django.template import Engine, Template
from django.template.base import Node
from django.templatetags.i18n import BlockTranslateNode, TranslateNode

from tests.support.paths import ROOT

LANGUAGES: Final = ("de", "fr")
PACKAGES: Final = ("kebab", "search", "ingest")
#: Functions that mark a message, with the number of their arguments before it.
FUNCTIONS: Final = {
    **dict.fromkeys(("_", "gettext", "gettext_lazy"), ""),
    **dict.fromkeys(("ngettext", "ngettext_lazy"), "n"),
    **dict.fromkeys(("pgettext", "pgettext_lazy"), "p"),
}

# A catalogue has no date of its own, so that the same messages give the same file.
_DATE: Final = datetime(2026, 1, 1, tzinfo=UTC)

#: A message: context, singular, plural.
Message = tuple[str | None, str, str | None]


def po_path(language: str) -> Path:
    """Return the path of a language's catalogue."""
    return ROOT / "kebab" / "locale" / language / "LC_MESSAGES" / "django.po"


def template_paths() -> list[Path]:
    """Return the templates of all packages."""
    return sorted(
        path for package in PACKAGES for path in (ROOT / package).rglob("templates/**/*") if path.is_file()
    )


def extract_messages() -> list[Message]:
    """Return the messages of templates and code, in the order of files, each once."""
    found: dict[Message, None] = {}
    for path in template_paths():
        template = Template(path.read_text(), engine=Engine.get_default())
        found |= dict.fromkeys(_of_template(template))
    for path in sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py")):
        found |= dict.fromkeys(_of_code(ast.parse(path.read_text())))
    return list(found)


def _of_template(template: Template) -> Iterator[Message]:
    for node in _nodes(template.nodelist):
        if isinstance(node, TranslateNode):
            text = node.filter_expression.var
            yield _context(node), getattr(text, "literal", text), None
        elif isinstance(node, BlockTranslateNode):
            singular = _block_text(node, node.singular)
            yield _context(node), singular, _block_text(node, node.plural) if node.plural else None


def _nodes(nodelist: object) -> Iterator[Node]:
    for node in nodelist:  # type: ignore[attr-defined]  # NodeList has no stubs for it
        yield from node.get_nodes_by_type(Node)


def _block_text(node: BlockTranslateNode, tokens: list[object]) -> str:
    text, _ = node.render_token_list(tokens)
    return text


def _context(node: TranslateNode | BlockTranslateNode) -> str | None:
    context = node.message_context
    return None if context is None else str(context.var)


def _of_code(tree: ast.Module) -> Iterator[Message]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            continue
        kind = FUNCTIONS.get(node.func.id)
        texts = [
            each.value for each in node.args if isinstance(each, ast.Constant) and isinstance(each.value, str)
        ]
        if kind is None or not texts:
            continue
        if kind == "n":
            yield None, texts[0], texts[1]
        elif kind == "p":
            yield texts[0], texts[1], None
        else:
            yield None, texts[0], None


def read_catalogue(language: str) -> Catalog:
    """Return a language's catalogue; an empty one if there is none yet."""
    path = po_path(language)
    if not path.exists():
        return Catalog(locale=language)
    with path.open("rb") as file:
        return read_po(file, locale=language)


def update_catalogue(language: str) -> Catalog:
    """Return the catalogue with exactly the messages of templates and code, with existing translations."""
    before = read_catalogue(language)
    catalogue = Catalog(
        locale=language,
        project="Kebab",
        version="",
        header_comment="",
        msgid_bugs_address="",
        last_translator="Kebab",
        language_team="Kebab",
        creation_date=_DATE,
        revision_date=_DATE,
        fuzzy=False,
    )
    for context, singular, plural in extract_messages():
        message = singular if plural is None else (singular, plural)
        known = before.get(singular, context)
        is_same_kind = known is not None and isinstance(known.string, str) == (plural is None)
        catalogue.add(message, known.string if known and is_same_kind else None, context=context)
    return catalogue


def write_catalogue(catalogue: Catalog) -> None:
    """Write a catalogue as .po, and compiled as .mo."""
    path = po_path(str(catalogue.locale))
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        write_po(file, catalogue, omit_header=False, width=110, sort_output=True, no_location=True)
    with path.with_suffix(".mo").open("wb") as file:
        write_mo(file, catalogue)


def missing_translations(language: str) -> list[str]:
    """Return the messages without a translation."""
    catalogue = update_catalogue(language)
    return [
        message.id if isinstance(message.id, str) else message.id[0]
        for message in catalogue
        if message.id and not (message.string if isinstance(message.string, str) else all(message.string))
    ]
