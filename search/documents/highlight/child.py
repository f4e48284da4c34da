"""The resource-limited highlighting process: pieces of code on standard input, spans on standard output.

Run as `python -m search.documents.highlight.child`. It imports only Pygments and the standard library, since
its start takes most of its time. It need not end with its parent, as its processor time is limited.
"""

import json
import resource
import sys
import time
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Final

from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Generic, Keyword, Name, Number, Operator, String, _TokenType

MEMORY_BYTES = 512 * 1024**2
CPU_SECONDS = 2

#: The CSS class of a word by its token type; the first match counts.
_CLASSES: Final[Sequence[tuple[_TokenType, str]]] = (
    (Comment, "c"),
    (Keyword.Constant, "n"),
    (Keyword, "k"),
    (Operator.Word, "k"),
    (String, "s"),
    (Number, "n"),
    (Name.Function, "f"),
    (Name.Class, "f"),
    (Name.Namespace, "f"),
    (Name.Tag, "k"),
    (Name.Attribute, "t"),
    (Name.Builtin, "t"),
    (Name.Decorator, "t"),
    (Name.Constant, "n"),
    (Generic.Deleted, "d"),
    (Generic.Inserted, "i"),
    (Generic.Heading, "f"),
    (Generic.Subheading, "f"),
)
Span = tuple[int, int, str]


def main() -> int:
    """Write a line for each piece as soon as it is done, so that a slow piece leaves the others intact."""
    _limit_resources()
    request = json.load(sys.stdin)
    ends_at = time.monotonic() + request["allowance_s"]
    for language, text in request["pieces"]:
        print(json.dumps(list(spans(language, text, ends_at))), flush=True)  # noqa: T201
    return 0


def spans(language: str, text: str, ends_at: float) -> Iterator[Span]:
    """Return (start, end, class) of each word that has a class, until `time.monotonic` reaches `ends_at`."""
    for start, kind, word in get_lexer_by_name(language).get_tokens_unprocessed(text):
        if time.monotonic() >= ends_at:
            return
        if name := _class_of(kind):
            yield start, start + len(word), name


@cache
def _class_of(kind: _TokenType) -> str:
    return next((name for of, name in _CLASSES if kind in of), "")  # type: ignore[comparison-overlap]  # a kind has its sub-kinds


def _limit_resources() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    raise SystemExit(main())
