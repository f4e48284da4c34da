"""Program of the sandboxed process that classifies the words of code.

Run as `python -m search.documents.highlight.child`, by `search.documents.highlight.spans`. It imports little
besides Pygments, since its start takes most of its time.
"""

import time
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Final

from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Generic, Keyword, Name, Number, Operator, String, _TokenType

from kebab.sandbox.child import serve
from kebab.sandbox.program import Header

#: Time limit for all pieces of a page, checked between words.
ALLOWANCE_S = 0.5

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


def handle(header: Header, _: bytes) -> Iterator[Header]:
    """Yield a frame for each piece as soon as it is done, so that a slow piece leaves the others intact."""
    ends_at = time.monotonic() + ALLOWANCE_S
    for language, text in header["pieces"]:
        yield {"spans": list(spans(language, text, ends_at))}


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


if __name__ == "__main__":
    serve(handle)
