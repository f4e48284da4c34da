"""OLE compound files ([MS-CFB]) written by hand, and Outlook messages in them."""

import struct
from collections.abc import Mapping
from typing import Any

SECTOR, MINI_SECTOR, CUTOFF = 512, 64, 4096
FREE, END, FAT, NONE = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD, 0xFFFFFFFF
ENTRY = struct.Struct("<64sHBBIII16sI8s8sIQ")

Tree = Mapping[str, Any]


def compound_file(root: Tree) -> bytes:
    """Return a compound file with these streams (bytes) and storages (mappings)."""
    return _Writer(root).content()


def outlook_message(
    *,
    texts: Mapping[str, str],
    numbers: Mapping[int, tuple[int, int]] | None = None,
    extra: Tree | None = None,
) -> dict[str, Any]:
    """Return the tree of a message.

    Args:
        texts: text properties by id ("0037" is the subject).
        numbers: fixed properties by id: kind and value.
        extra: further streams and storages.
    """
    return {**properties(texts, numbers or {}, header=32), **(extra or {})}


def properties(
    texts: Mapping[str, str], numbers: Mapping[int, tuple[int, int]], *, header: int
) -> dict[str, Any]:
    """Return the streams of properties of a message, a recipient or an attachment (`header` of 8 bytes)."""
    fixed = b"".join(struct.pack("<HHIQ", kind, key, 6, value) for key, (kind, value) in numbers.items())
    streams: dict[str, Any] = {"__properties_version1.0": bytes(header) + fixed}
    return streams | {f"__substg1.0_{key}001F": text.encode("utf-16-le") for key, text in texts.items()}


class _Writer:
    def __init__(self, root: Tree) -> None:
        self.sectors: list[bytes] = []
        self.table: list[int] = []
        self.mini, self.mini_table = b"", []
        self.entries: list[list[Any]] = [["Root Entry", 5, NONE, NONE, END, 0]]
        self.entries[0][3] = self._add_children(root)

    def _add_children(self, tree: Tree) -> int:
        """Add the entries of a storage, each the right sibling of the one before; return the first."""
        first = NONE
        for name in sorted(tree, reverse=True):
            content, index = tree[name], len(self.entries)
            if isinstance(content, bytes):
                self.entries.append([name, 2, first, NONE, *self._add_stream(content)])
            else:
                self.entries.append([name, 1, first, NONE, 0, 0])
                self.entries[index][3] = self._add_children(content)
            first = index
        return first

    def _add_stream(self, content: bytes) -> tuple[int, int]:
        if not content or len(content) >= CUTOFF:
            return self._add_sectors(content), len(content)
        start = len(self.mini) // MINI_SECTOR
        padded = content + bytes(-len(content) % MINI_SECTOR)
        self.mini += padded
        count = len(padded) // MINI_SECTOR
        self.mini_table += [*range(start + 1, start + count), END]
        return start, len(content)

    def _add_sectors(self, content: bytes) -> int:
        if not content:
            return END
        start = len(self.sectors)
        self.sectors += [
            content[at : at + SECTOR].ljust(SECTOR, b"\0") for at in range(0, len(content), SECTOR)
        ]
        self.table += [*range(start + 1, len(self.sectors)), END]
        return start

    def content(self) -> bytes:
        """Return the file: header, sectors, table of sectors."""
        self.entries[0][4:] = self._add_sectors(self.mini), len(self.mini)
        packed_mini = struct.pack(f"<{len(self.mini_table)}I", *self.mini_table)
        packed_mini += b"\xff" * (-len(packed_mini) % SECTOR)
        mini_start = self._add_sectors(packed_mini)
        directory = b"".join(self._entry(*entry) for entry in self.entries)
        directory_start = self._add_sectors(directory + bytes(-len(directory) % SECTOR))
        count = -(-(len(self.sectors) + 1) // (SECTOR // 4 - 1))
        starts = range(len(self.sectors), len(self.sectors) + count)
        table = [*self.table, *[FAT] * count]
        table += [FREE] * (count * SECTOR // 4 - len(table))
        header = struct.pack(
            "<8s16sHHHHH6sIIIIIIIII",
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", b"", 0x3E, 3, 0xFFFE, 9, 6, b"", 0, count,
            directory_start, 0,
            CUTOFF, mini_start, len(packed_mini) // SECTOR, END, 0,
        )  # fmt: skip
        header += struct.pack("<109I", *starts, *[FREE] * (109 - count))
        return header + b"".join(self.sectors) + struct.pack(f"<{len(table)}I", *table)

    @staticmethod
    def _entry(name: str, kind: int, right: int, child: int, start: int, size: int) -> bytes:
        encoded = name.encode("utf-16-le")
        return ENTRY.pack(
            encoded, len(encoded) + 2, kind, 1, NONE, right, child, b"", 0, b"", b"", start & 0xFFFFFFFF, size
        )
