"""Names of archives and paths of their members."""

import re
from typing import Final

from ingest.connectors.walk_rules import SkipReason
from search.corpus.paths import MAX_PATH_BYTES

#: suffixes of supported formats, the longest first
UNPACKED: Final = (".tar.bz2", ".tar.gz", ".tar.xz", ".tbz2", ".tbz", ".tgz", ".txz", ".tar", ".zip")
#: suffixes of archives that are not supported
NOT_UNPACKED: Final = (".tar.zst", ".tar.lz", ".tar.lzma", ".tar.z", ".tzst", ".7z", ".rar")
#: other suffixes of packed files, which are skipped inside an archive
_PACKED: Final = (".bz2", ".ear", ".gz", ".jar", ".lz4", ".lzma", ".war", ".whl", ".xz", ".z", ".zst")
_DRIVE: Final = re.compile(r"[A-Za-z]:")


def is_archive(name: str) -> bool:
    """Return whether a file of this name is an archive, of a supported format or not."""
    return name.lower().endswith((*UNPACKED, *NOT_UNPACKED))


def is_supported_archive(name: str) -> bool:
    """Return whether the name is that of a supported archive format."""
    return name.lower().endswith(UNPACKED)


def is_packed(name: str) -> bool:
    """Return whether a member of this name is itself packed."""
    return name.lower().endswith((*UNPACKED, *NOT_UNPACKED, *_PACKED))


def strip_archive_suffix(name: str) -> str:
    """Return an archive's name or path without its suffix: `docs.tar.gz` gives `docs`."""
    suffix = next((each for each in UNPACKED if name.lower().endswith(each)), "")
    stem = name[: len(name) - len(suffix)]
    return name if stem in ("", ".") or stem.endswith("/") else stem


def member_parts(name: str) -> tuple[str, ...] | SkipReason:
    """Return the parts of a member's path, () for the archive's root, or the reason why it is refused."""
    if len(name.encode("utf-8", errors="surrogatepass")) > MAX_PATH_BYTES:
        return SkipReason.PATH_TOO_LONG
    if "\\" in name:
        return SkipReason.BACKSLASH_IN_PATH
    if name.startswith("/") or _DRIVE.match(name):
        return SkipReason.ABSOLUTE_PATH
    parts = tuple(part for part in name.split("/") if part not in ("", "."))
    return SkipReason.PATH_OUTSIDE if ".." in parts else parts
