"""The words of code with what they are, found in a process with limits.

Pygments' lexers are regular expressions, some of which take exponential time over hostile text: within one
match, where nothing in our process could stop them, and all its threads would wait.
"""

import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from itertools import chain, repeat
from pathlib import Path

import pygments

import search

logger = logging.getLogger(__name__)

#: For all the pieces of a page: between words, and at last, with the start of the process.
ALLOWANCE_S, TIMEOUT_S = 0.5, 2.0
#: (start, end, class) of a word, end excluded.
Span = tuple[int, int, str]


def spans_of(pieces: Sequence[tuple[str, str]], *, allowance_s: float = ALLOWANCE_S) -> list[Sequence[Span]]:
    """Return for each (lexer, text) the spans of its words, in order; none where the time was over."""
    found = _found(json.dumps({"allowance_s": allowance_s, "pieces": pieces})) if pieces else iter(())
    return [spans for spans, _ in zip(chain(found, repeat(())), pieces, strict=False)]


def _found(given: str) -> Iterator[Sequence[Span]]:
    # a line that the process did not end is of no use
    return (json.loads(line) for line in _said(given.encode()).split(b"\n")[:-1])


def _said(given: bytes) -> bytes:
    """Return what the process said before it ended or had to."""
    try:
        ended = subprocess.run(
            [sys.executable, "-P", "-s", "-S", "-B", "-m", "search.documents.highlight.child"],
            input=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_environment(),
            cwd="/",
            timeout=TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        logger.warning("code stays without colours: its words took over %s s", TIMEOUT_S)
        return error.output or b""
    if ended.returncode != 0:
        logger.warning("code stays without colours: the process ended with status %s", ended.returncode)
    return ended.stdout


def _environment() -> dict[str, str]:
    """Nothing of ours but where the code is; without `site`, which would take as long as the words."""
    roots = [Path(module.__file__).resolve().parent.parent for module in (search, pygments)]
    return {"PATH": os.defpath, "LANG": "C.UTF-8", "PYTHONPATH": os.pathsep.join(map(str, roots))}
