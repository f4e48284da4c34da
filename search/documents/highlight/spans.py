"""Highlighted spans of code, computed in a sandboxed process.

Pygments' lexers are regular expressions, some of which take exponential time on hostile text. That happens
within one match, where nothing in this process could stop it, and all its threads would wait.
"""

import logging
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from typing import Final

import pygments

from kebab.sandbox.deadline import Deadline
from kebab.sandbox.errors import SandboxError
from kebab.sandbox.process import Request, run_once
from kebab.sandbox.program import Limits, Program

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


def spans_of(pieces: Sequence[tuple[str, str]]) -> list[Sequence[Span]]:
    """Return the spans of the words of each (lexer, text), in order; none after the time limit."""
    request = Request(header={"pieces": pieces}, start_deadline=partial(Deadline, TIMEOUT_S))
    found: list[Sequence[Span]] = []
    with closing(run_once(PROGRAM, request)) as replies:
        try:
            for _ in pieces:
                found.append(next(replies)["spans"])
        except SandboxError as error:
            logger.warning("code stays without colours: %s", error)
    return found + [()] * (len(pieces) - len(found))
