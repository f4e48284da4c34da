"""Highlighted spans of code, computed in a sandboxed process.

Pygments' lexers are regular expressions, some of which take exponential time on hostile text. That happens
within one match, where nothing in this process could stop it, and all its threads would wait.
"""

import logging
import re
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from typing import Any, Final

import pygments

from kebab.sandbox.process import Deadline, Request, run_once
from kebab.sandbox.program import ChildDied, Header, Limits, Program, SandboxError

logger = logging.getLogger(__name__)

PROGRAM: Final = Program(
    module="search.documents.highlight.child",
    limits=Limits(address_space_bytes=512 * 1024**2, cpu_seconds=2),
    libraries=(pygments,),
)
#: Time limit for all pieces of a page, with the start of the process.
TIMEOUT_S = 2.0
#: (start, end, class) of a word, end excluded.
Span = tuple[int, int, str]
_CLASS: Final = re.compile(r"[a-z]\Z")


def spans_of(pieces: Sequence[tuple[str, str]]) -> list[Sequence[Span]]:
    """Return the spans of the words of each (lexer, text), in order; none after the time limit."""
    request = Request(header={"pieces": pieces}, start_deadline=partial(Deadline, TIMEOUT_S))
    found: list[Sequence[Span]] = []
    with closing(run_once(PROGRAM, request)) as replies:
        try:
            for _ in pieces:
                found.append(_read_spans(next(replies)))
        except SandboxError as error:
            logger.warning("code stays without colours: %s", error)
    return found + [()] * (len(pieces) - len(found))


def _read_spans(reply: Header) -> Sequence[Span]:
    """Return the spans of a reply. Raises ChildDied for anything else: hostile code may have taken over."""
    spans = reply.get("spans")
    if not isinstance(spans, list) or not all(map(_is_span, spans)):
        raise ChildDied("it sent a malformed answer")
    return spans


def _is_span(value: Any) -> bool:
    match value:
        case [int(), int(), str(name)]:
            return _CLASS.match(name) is not None
        case _:
            return False
