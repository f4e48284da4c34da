"""Which files are archives, by their names, and where their members may go."""

import re
from typing import Final

from ingest.connectors.walk_rules import SkipReason
from search.corpus.paths import MAX_PATH_BYTES

#: unpacked here, the longest suffix first
UNPACKED: Final = (".tar.bz2", ".tar.gz", ".tar.xz", ".tbz2", ".tbz", ".tgz", ".txz", ".tar", ".zip")
#: archives that nothing here unpacks
NOT_UNPACKED: Final = (".tar.zst", ".tar.lz", ".tar.lzma", ".tar.z", ".tzst", ".7z", ".rar")
#: beside those, what is not looked into inside an archive
_PACKED: Final = (".bz2", ".ear", ".gz", ".jar", ".lz4", ".lzma", ".war", ".whl", ".xz", ".z", ".zst")
_DRIVE: Final = re.compile(r"[A-Za-z]:")


def is_archive(name: str) -> bool:
    """Return whether a file of this name is an archive, one that is unpacked here or not."""
    return name.lower().endswith((*UNPACKED, *NOT_UNPACKED))


def is_unpacked(name: str) -> bool:
    """Return whether archives of this name are unpacked here."""
    return name.lower().endswith(UNPACKED)


def is_packed(name: str) -> bool:
    """Return whether a member of this name is packed itself."""
    return name.lower().endswith((*UNPACKED, *NOT_UNPACKED, *_PACKED))


def without_suffix(name: str) -> str:
    """Return an archive's name or path without what says that it is one: `docs.tar.gz` gives `docs`."""
    suffix = next((each for each in UNPACKED if name.lower().endswith(each)), "")
    stem = name[: len(name) - len(suffix)]
    return name if stem in ("", ".") or stem.endswith("/") else stem


def member_parts(name: str) -> tuple[str, ...] | SkipReason:
    """Return the names along a member's path, () for the archive's root, or why it may not be written so."""
    if len(name.encode("utf-8", errors="surrogatepass")) > MAX_PATH_BYTES:
        return SkipReason.PATH_TOO_LONG
    if "\\" in name:
        return SkipReason.BACKSLASH_IN_PATH
    if name.startswith("/") or _DRIVE.match(name):
        return SkipReason.ABSOLUTE_PATH
    parts = tuple(part for part in name.split("/") if part not in ("", "."))
    return SkipReason.PATH_OUTSIDE if ".." in parts else parts
