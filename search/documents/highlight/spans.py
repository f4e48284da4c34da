"""Highlighted spans of code, computed in a process with resource limits.

Pygments' lexers are regular expressions, some of which take exponential time on hostile text. That happens
within one match, where nothing in this process could stop it, and all its threads would wait.
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

#: Time limits for all pieces of a page: one is checked between words, the other includes the process start.
ALLOWANCE_S, TIMEOUT_S = 0.5, 2.0
#: (start, end, class) of a word, end excluded.
Span = tuple[int, int, str]


def spans_of(pieces: Sequence[tuple[str, str]], *, allowance_s: float = ALLOWANCE_S) -> list[Sequence[Span]]:
    """Return the spans of the words of each (lexer, text), in order; none after the time limit."""
    found = _parse_spans(json.dumps({"allowance_s": allowance_s, "pieces": pieces})) if pieces else iter(())
    return [spans for spans, _ in zip(chain(found, repeat(())), pieces, strict=False)]


def _parse_spans(request: str) -> Iterator[Sequence[Span]]:
    # a line without an end is incomplete
    return (json.loads(line) for line in _run_child(request.encode()).split(b"\n")[:-1])


def _run_child(request: bytes) -> bytes:
    """Return the output of the process until it ended or was killed."""
    try:
        result = subprocess.run(
            [sys.executable, "-P", "-s", "-S", "-B", "-m", "search.documents.highlight.child"],
            input=request,
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
    if result.returncode != 0:
        logger.warning("code stays without colours: the process ended with status %s", result.returncode)
    return result.stdout


def _environment() -> dict[str, str]:
    """Return an environment with the paths of the code only; importing `site` would take too long."""
    roots = [Path(module.__path__[0]).resolve().parent for module in (search, pygments)]
    return {"PATH": os.defpath, "LANG": "C.UTF-8", "PYTHONPATH": os.pathsep.join(map(str, roots))}
