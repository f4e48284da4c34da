"""Escapes in the strings of data files, read as the characters that they stand for, line by line."""

import html
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import accumulate
from types import MappingProxyType
from typing import Final

import yaml

from ingest.parsers.decode import UNSAFE, join_surrogates
from ingest.parsers.markup.front_matter import SAFE_LOADER
from ingest.parsers.types import Block, LineSpan, Outline
from search.documents.charset import REPLACEMENT

#: mark of a line end that is written as an escape; the text itself has no carriage return left
BREAK: Final = "\r"
LINE_END = re.compile(r"[\r\n]")
HEX = "[0-9a-fA-F]"
ESCAPE = re.compile(rf"\\(?:u\{{({HEX}{{1,6}})\}}|u({HEX}{{4}})|U({HEX}{{8}})|x({HEX}{{2}})|([^uUx\n]))")
#: escapes of one letter; an unknown one stays as it is written
LETTERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        **dict.fromkeys("nrNLP", BREAK),
        **dict.fromkeys("bfva0e_", " "),
        **{character: character for character in "\"'/\\ \t"},
        "t": "\t",
    }
)
#: comments and strings, which end with the line at the latest
JSON_TOKEN = re.compile(r'"[^"\\]*+(?:\\[^\n][^"\\]*+)*+(?:"|\Z|\\\Z)|//.*')
#: strings and comments; one that is never closed goes to the end, so that nothing is searched twice
TOML_TOKEN = re.compile(
    r'"""(?:\\.|[^\\])*?(?:"""|\Z|\\\Z)|"[^"\\\n]*(?:\\.[^"\\\n]*)*(?:"|$|\\\Z)'
    r"|'''.*?(?:'''|\Z)|'[^'\n]*(?:'|$)|#[^\n]*",
    re.DOTALL | re.MULTILINE,
)
#: parts of XML without references, and references that need no declaration
XML_TOKEN = re.compile(
    r"<!\[CDATA\[.*?(?:\]\]>|\Z)|<!--.*?(?:-->|\Z)|&(?:#\d{1,7}|#x[\da-f]{1,6}|lt|gt|amp|quot|apos);",
    re.DOTALL | re.IGNORECASE,
)


def decode_escapes(lines: Sequence[str], language: str | None) -> list[list[str]] | None:
    """Return for each line of a data file the readable lines that it stands for; None without an escape.

    A line end in a string begins another readable line; blank ones are left out. The file need not be valid:
    what is no string in it stays as it is.
    """
    decode = DECODERS.get(language or "")
    mark = "&" if language == "xml" else "\\"
    if decode is None or not any(mark in line for line in lines):
        return None
    decoded = [
        [line] if text is line else split_decoded(text)
        for text, line in zip(decode(lines), lines, strict=True)
    ]
    return decoded if any(parts != [line] for parts, line in zip(decoded, lines, strict=True)) else None


def unescape(text: str) -> str:
    """Return `text` with its backslash escapes decoded; line ends become BREAK."""
    return join_surrogates(ESCAPE.sub(_character, text) if "\\" in text else text)


def expand(
    decoded: Sequence[Sequence[str]], blocks: Sequence[Block], origins: Sequence[LineSpan] | None = None
) -> Outline:
    """Return the outline of decoded lines, each with its place in the file.

    Args:
        decoded: for each line of the blocks the readable lines, one at least.
        origins: place in the file of each line of the blocks; None: the lines are the file's own.
    """
    starts = [1, *accumulate((len(parts) for parts in decoded), initial=1)]  # by line number, from 1
    places = origins or [LineSpan(number, number) for number in range(1, len(decoded) + 1)]
    return Outline(
        lines=[line for parts in decoded for line in parts],
        blocks=[
            replace(
                block,
                span=LineSpan(starts[block.span.start], starts[block.span.end + 1] - 1),
                breaks=tuple(starts[line] for line in block.breaks),
            )
            for block in blocks
        ],
        origins=[place for parts, place in zip(decoded, places, strict=True) for _ in parts],
    )


def split_decoded(line: str) -> list[str]:
    """Return the readable lines of a line in which BREAK ends one, without blank ones."""
    if BREAK not in line:
        return [UNSAFE.sub(REPLACEMENT, line)]
    parts = [part.rstrip() for part in UNSAFE.sub(REPLACEMENT, line).split(BREAK)]
    return [part for part in parts if part] or [""]


def _character(escape: re.Match[str]) -> str:
    digits = escape[1] or escape[2] or escape[3] or escape[4]
    if digits is None:
        return LETTERS.get(escape[5], escape[0])
    code = int(digits, 16)
    if code in (0x0A, 0x0D):
        return BREAK
    return chr(code) if 0x20 <= code < 0x110000 else " "


def _decode_json(lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        yield JSON_TOKEN.sub(_decode_string, line) if "\\" in line else line


def _decode_toml(lines: Sequence[str]) -> Sequence[str]:
    return TOML_TOKEN.sub(_decode_string, "\n".join(lines)).split("\n")


def _decode_string(token: re.Match[str]) -> str:
    """Return a token with its escapes decoded if it is a whole string in double quotes."""
    text = token[0]
    return unescape(text) if len(text) > 1 and text[0] == text[-1] == '"' else text


def _decode_xml(lines: Sequence[str]) -> Sequence[str]:
    def decode(token: re.Match[str]) -> str:
        return token[0] if token[0].startswith("<") else LINE_END.sub(" ", html.unescape(token[0]))

    return XML_TOKEN.sub(decode, "\n".join(lines)).split("\n")


def _decode_yaml(lines: Sequence[str]) -> Sequence[str]:
    """Decode scalars in double quotes, which only a scanner tells from quotes in blocks of text."""
    scalars: list[tuple[yaml.Mark, yaml.Mark]] = []
    with suppress(yaml.YAMLError, ValueError, RecursionError):  # what precedes an error is decoded
        for token in yaml.scan("\n".join(lines), Loader=SAFE_LOADER):
            if isinstance(token, yaml.ScalarToken) and token.style == '"':
                scalars.append((token.start_mark, token.end_mark))
    decoded = list(lines)
    for start, end in reversed(scalars):  # so that places on the same line stay valid
        for number in range(start.line, min(end.line + 1, len(decoded))):
            line = decoded[number]
            first = start.column if number == start.line else 0
            last = end.column if number == end.line else len(line)
            decoded[number] = line[:first] + unescape(line[first:last]) + line[last:]
    return decoded


DECODERS: Final[Mapping[str, Callable[[Sequence[str]], Iterator[str] | Sequence[str]]]] = MappingProxyType(
    {"json": _decode_json, "yaml": _decode_yaml, "toml": _decode_toml, "xml": _decode_xml}
)
