"""What the chunker gives, and its version."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

#: raised whenever the same document would give other chunks
CHUNKER_VERSION: Final = "c4"
#: tokens of breadcrumb and text together: the embedder's 256 less its two marks
MAX_TOKENS: Final = 254
#: the least that a workspace may ask for: 32 are left for text, however long the breadcrumb is
LEAST_TOKENS: Final = 128
#: tokens of a breadcrumb; a longer one is shortened, so that every chunk has room for text
MAX_BREADCRUMB_TOKENS: Final = 96
#: characters of a chunk's text; text that makes few tokens (rules, encoded bytes) ends here
MAX_CHARS: Final = 4_000

#: chunks of one document: with each the worker that stores them takes some 8 KB, all at once
MAX_CHUNKS: Final = 40_000

#: characters of a code chunk's language; a fence that names a longer one names none
MAX_LANGUAGE_CHARS: Final = 40

ChunkKind = Literal["code", "info"]


def chunker_version(chunk_tokens: int = MAX_TOKENS) -> str:
    """Name what cuts documents into chunks of at most `chunk_tokens`: other names, other chunks."""
    return CHUNKER_VERSION if chunk_tokens == MAX_TOKENS else f"{CHUNKER_VERSION}-{chunk_tokens}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkDraft:
    """A chunk before it has an id."""

    #: place among the document's chunks, from 0
    ordinal: int
    kind: ChunkKind
    #: language of a code chunk, lower case, or None
    language: str | None
    #: headings above the chunk, outermost first, its own last; of code the units: "class A", "method run"
    heading_path: tuple[str, ...]
    #: title, of code the path, and headings joined by " > ". Together with `text` what is embedded
    breadcrumb: str
    section_label: str
    #: lines `start` to `end` of the first span joined by "\\n", unless one line was too long for a chunk
    text: str
    #: {"kind": "line", "start", "end"}: first where the text lies, then the heading and front-matter
    #: lines that the breadcrumb was read from
    spans: tuple[Mapping[str, Any], ...]
    #: tokens of `text` alone
    token_count: int
