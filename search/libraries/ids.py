"""Library ids: `/owner/repo` on git hosts, `/local/<slug>` otherwise, with `@v1.2` behind for a version."""

import re
import unicodedata
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import count
from urllib.parse import unquote, urlsplit

from django.utils.text import slugify

from search.errors import InvalidLibraryId
from search.retrieval.errors import shown

LOCAL = "local"
#: Characters of an id, a number behind a taken one included.
MAX_ID_CHARS = 300
_MAX_PART_CHARS = 140
_MAX_SLUG_CHARS = 63
# A typed id with more parts than this is none: each part is one more way to read it.
_MAX_PARTS = 20
_SCHEMES = frozenset({"http", "https", "ssh", "git", "git+http", "git+https", "git+ssh"})
# git@host:owner/repo.git, as git-clone's manual has it: a colon before any slash. One letter is a drive.
_SCP = re.compile(r"(?:[^@/:]+@)?(?P<host>[^@/:]{2,}):(?!//)(?P<path>.+)")
_FOREIGN = re.compile(r"[^\w.-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A library, and one of its versions; '' is the default branch."""

    library_id: str
    version: str = ""


def library_id_of(*, url: str, title: str, key: str) -> str:
    """Return the id that a source wants: by the repository's address, else by its title or its key."""
    return git_library_id(url) or local_library_id(title, key)


def git_library_id(url: str) -> str | None:
    """Return `/owner/repo` of a repository on a git host, deeper groups joined with `-`; None for
    any other.
    """
    parts = [part for part in map(_part, _repository_path(url).split("/")) if part]
    if len(parts) < 2:
        return None
    *groups, name = parts
    return f"/{'-'.join(groups)[:_MAX_PART_CHARS]}/{name}"


def local_library_id(title: str, key: str) -> str:
    """Return `/local/<slug>` of a title, or of the source's key where a title has no Latin letter
    or digit.
    """
    slug = slugify(title).replace("_", "-")[:_MAX_SLUG_CHARS].strip("-")
    return f"/{LOCAL}/{slug or key}"


def first_free(wanted: str, taken: Collection[str]) -> str:
    """Return `wanted`, or the first of `wanted-2`, `wanted-3`, … that isn't taken."""
    if wanted not in taken:
        return wanted
    return next(numbered for n in count(2) if (numbered := f"{wanted}-{n}") not in taken)


def write_reference(reference: Reference) -> str:
    """Return `/owner/repo`, or `/owner/repo@v1.2`."""
    return f"{reference.library_id}@{reference.version}" if reference.version else reference.library_id


def read_references(text: str) -> tuple[Reference, ...]:
    """Return the ways to read an id, the likeliest first; which one holds depends on what there is.

    `/a/b/c` is the version `c` of `/a/b`, or the deeper group's `/a-b/c`. What `write_reference` writes has
    one reading. Raises InvalidLibraryId.
    """
    parts = text.removeprefix("/").split("/")
    readings = () if len(parts) > _MAX_PARTS else tuple(_readings(parts, text))
    if not text.startswith("/") or not readings:
        raise InvalidLibraryId(
            f"{shown(text)} is not a library's id; it looks like /owner/repo or /owner/repo@v1.2."
        )
    return readings


def _readings(parts: list[str], text: str) -> Iterator[Reference]:
    for length in range(2, len(parts) + 1):
        library_id = _joined(parts[:length])
        if library_id is not None and all(parts[length:]):
            yield Reference(library_id=library_id, version="/".join(parts[length:]))
    before, _, version = text.partition("@")
    library_id = _joined(before.removeprefix("/").split("/"))
    if library_id is not None and version:
        yield Reference(library_id=library_id, version=version)


def _joined(parts: list[str]) -> str | None:
    *groups, name = parts
    if not groups or not all(parts) or any("@" in part for part in parts):
        return None
    return f"/{'-'.join(groups)}/{name}"


def _repository_path(url: str) -> str:
    address = url.strip()
    scp = _SCP.fullmatch(address)
    if scp is not None:
        path = scp["path"]
    else:
        try:
            split = urlsplit(address)
            path = split.path if split.scheme.lower() in _SCHEMES and split.hostname else ""
        except ValueError:  # brackets that hold no IPv6 address
            path = ""
    return unquote(path).rstrip("/").removesuffix(".git")


def _part(name: str) -> str:
    """Return a part of a path as an id has it; nothing of `.` and `..`, nor of signs alone."""
    kept = _FOREIGN.sub("-", unicodedata.normalize("NFC", name)).strip("-")[:_MAX_PART_CHARS]
    return kept if kept.strip(".") else ""
