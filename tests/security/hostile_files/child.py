"""The limited process, with parsers that hang, eat memory or crash on files whose first line says so."""

import ctypes
import time
from collections.abc import Callable, Mapping
from types import MappingProxyType

from ingest.digest import child
from ingest.parsers import registry
from ingest.parsers.types import FileType, Outline


def hang() -> None:
    """Never return."""
    while True:
        time.sleep(3_600)


def eat_memory() -> None:
    """Allocate memory until there is none left."""
    blocks = []
    while True:
        blocks.append(bytearray(b"\x01" * 8_000_000))


def crash() -> None:
    """Read address 0."""
    ctypes.string_at(0)


#: Effects of the first word of a file on the parser that reads it.
TRIGGERS: Mapping[bytes, Callable[[], None]] = MappingProxyType(
    {b"hang": hang, b"devour": eat_memory, b"crash": crash}
)


def _with_triggers(name: str, parser: registry.Parser) -> registry.Parser:
    def parse(content: bytes, file: FileType) -> Outline:
        word, _, where = content[:40].partition(b"\n")[0].partition(b" in ")
        if word in TRIGGERS and where.decode(errors="replace") in (name, "every parser"):
            TRIGGERS[word]()
        return parser(content, file)

    return parse


if __name__ == "__main__":
    registry.PARSERS = {name: _with_triggers(name, each) for name, each in registry.PARSERS.items()}
    child.main()
