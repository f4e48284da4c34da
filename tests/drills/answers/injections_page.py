"""The page that shows how each injected document is rendered: docs/evaluation/injections.md."""

import re

from search.answers.markers import neutralise_markup
from search.answers.prompt import FramedPassage, PromptFrame
from tests.integration.search.answers.injections import INJECTIONS, Injection
from tests.support.paths import ROOT

PAGE = ROOT / "docs" / "evaluation" / "injections.md"
_NONCE = "5f0c9d1f6a0b44f2"
_HEAD = '[#1] source="docs" trust=unknown heading="Harbour notes" uri="harbour.md#L1"'
_UNSEEN = re.compile("[^\n\x20-\x7e\u00a1-\u024f▁｜＃［］【】４７]")
_INTRODUCTION = """\
# Injected documents

Thirty documents that try to leave the [frame](../answers.md#documents-are-data): the original, and where they
differ from it the text that a model is shown within the frame, and the form in an answer of a model that only
repeats them. Invisible characters are written as their code points. `tests/integration/search/answers` asks
about each and checks the prompt. `python -m tests.drills.answers page` generates this page.
"""


def page() -> str:
    """Return the page."""
    return "\n".join([_INTRODUCTION, *(_section(name, INJECTIONS[name]) for name in INJECTIONS)])


def _section(name: str, injected: Injection) -> str:
    passage = FramedPassage(
        n=1,
        source="docs",
        trust="unknown",
        heading=injected.title,
        uri=f"{injected.path}#L1",
        text=injected.text,
    )
    parts = {
        "written": injected.text,
        "shown to a model": _without_frame(PromptFrame(_NONCE).format_block(passage)),
        "repeated by one": neutralise_markup(injected.text),
    }
    fenced = [
        f"{label}:\n````text\n{_visible(text)}\n````\n"
        for label, text in parts.items()
        if label == "written" or text != injected.text
    ]
    return "\n".join([f"## {name.capitalize()}\n", *fenced])


def _without_frame(block: str) -> str:
    """Return the lines of a block without their bars, below its head if that is not the usual one."""
    head, _begin, *lines, _end = block.split("\n")
    text = "\n".join(line.removeprefix("| ") for line in lines)
    return text if head == _HEAD else f"{head}\n{text}"


def _visible(text: str) -> str:
    return _UNSEEN.sub(lambda found: f"<U+{ord(found[0]):04X}>", text)
