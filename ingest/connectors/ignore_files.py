"""Ignore files of one walk, compiled once each and limited in size."""

from collections.abc import Sequence
from typing import Final

from ingest.connectors.errors import ListingFailed
from ingest.connectors.ignore import IgnoreRules

#: Typical files have some hundred bytes. One of this size takes up to 1.5 s to compile.
MAX_IGNORE_FILE_BYTES: Final = 256 * 1024
#: Limit for all ignore files of a walk, counting equal contents once, and for those that apply to one folder,
#: its own and those above it. They take up to 12 s and 90 MB.
MAX_WALK_BYTES: Final = 2 * 1024**2


class IgnoreFiles:
    """A cache of compiled ignore files, by content."""

    def __init__(self) -> None:
        self._by_content: dict[bytes, IgnoreRules] = {}
        self._size_bytes = 0

    def rules(self, path: str, content: bytes) -> IgnoreRules:
        """Return the rules of an ignore file.

        Args:
            path: the file's path, printable.
            content: at least the first MAX_IGNORE_FILE_BYTES + 1 bytes.

        Raises:
            ListingFailed: the file is too large, or all files of the walk together are.
        """
        known = self._by_content.get(content)
        if known is not None:
            return known
        if len(content) > MAX_IGNORE_FILE_BYTES:
            raise ListingFailed(f"{path} has more than {MAX_IGNORE_FILE_BYTES:,} bytes; shorten it.")
        self._size_bytes += len(content)
        if self._size_bytes > MAX_WALK_BYTES:
            raise ListingFailed(
                f"The ignore files up to {path} have more than {MAX_WALK_BYTES:,} bytes together;"
                " shorten them, or list less."
            )
        rules = IgnoreRules(content.decode("utf-8", errors="replace"))
        self._by_content[content] = rules
        return rules

    def check(self, active: Sequence[IgnoreRules], folder: str) -> None:
        """Raise ListingFailed when the ignore files that apply to a folder are too large together."""
        if sum(rules.size_chars for rules in active) > MAX_WALK_BYTES:
            raise ListingFailed(
                f"The ignore files that hold in {folder or 'the root'} have more than {MAX_WALK_BYTES:,}"
                " characters together; shorten them."
            )
