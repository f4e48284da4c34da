"""The page that shows how each injected document is rendered: docs/evaluation/injections.md."""

import re
from collections.abc import Mapping

from search.answers.prompt import PromptFrame, neutralise_markup
from tests.integration.search.answers.injections import INJECTIONS, Injection
from tests.support.paths import ROOT

PAGE = ROOT / "docs" / "evaluation" / "injections.md"
_NONCE = "5f0c9d1f6a0b44f2"
_HEAD = '[#1] source="docs" trust=unknown heading="Harbour notes" uri="harbour.md#L1"'
_UNSEEN = re.compile("[^\n\x20-\x7e\u00a1-\u024f▁｜＃［］【】４７]")
_INTRODUCTION = """\
# Injected documents

Thirty documents try to leave the [frame](../answers.md#documents-are-data). This page shows those that are
changed: the original, and where they differ from it the text that a model is shown within the frame, and the
form in an answer of a model that only repeats them. Invisible characters are written as their code points.
`python -m tests.drills.answers page` generates the page, and `tests/integration/search/answers` asks about
each document.
"""


def page() -> str:
    """Return the page."""
    forms = {name: _forms(injected) for name, injected in INJECTIONS.items()}
    sections = [_section(name, forms[name]) for name in INJECTIONS if len(forms[name]) > 1]
    unchanged = ", ".join(name for name in INJECTIONS if len(forms[name]) == 1)
    return "\n".join([_INTRODUCTION, f"Unchanged: {unchanged}.\n", *sections])


def _section(name: str, forms: Mapping[str, str]) -> str:
    fenced = [f"{label}:\n````text\n{_visible(text)}\n````\n" for label, text in forms.items()]
    return "\n".join([f"## {name.capitalize()}\n", *fenced])


def _forms(injected: Injection) -> dict[str, str]:
    """Return the original by its label, and the forms that differ from it."""
    block = PromptFrame(_NONCE).format_block(
        n=1,
        source="docs",
        trust="unknown",
        heading=injected.title,
        uri=f"{injected.path}#L1",
        text=injected.text,
    )
    forms = {
        "shown to a model": _without_frame(block),
        "repeated by one": neutralise_markup(injected.text),
    }
    return {"written": injected.text} | {
        label: text for label, text in forms.items() if text != injected.text
    }


def _without_frame(block: str) -> str:
    """Return the lines of a block without their bars, below its head if that is not the usual one."""
    head, _begin, *lines, _end = block.split("\n")
    text = "\n".join(line.removeprefix("| ") for line in lines)
    return text if head == _HEAD else f"{head}\n{text}"


def _visible(text: str) -> str:
    return _UNSEEN.sub(lambda found: f"<U+{ord(found[0]):04X}>", text)
