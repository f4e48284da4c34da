"""Library ids: `/owner/repo` on git hosts, `/local/<slug>` otherwise, followed by `@v1.2` for a version."""

import re
import unicodedata
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import count
from urllib.parse import unquote, urlsplit

from django.utils.text import slugify

from search.errors import InvalidLibraryId
from search.retrieval.errors import preview

LOCAL = "local"
#: Most characters of an id, including the number that makes it unique.
MAX_ID_CHARS = 300
_MAX_PART_CHARS = 140
_MAX_SLUG_CHARS = 63
# An id with more parts than this is invalid, because each part is one more interpretation.
_MAX_PARTS = 20
_SCHEMES = frozenset({"http", "https", "ssh", "git", "git+http", "git+https", "git+ssh"})
# git@host:owner/repo.git, by the manual of git-clone: a colon before any slash. One letter is a drive.
_SCP = re.compile(r"(?:[^@/:]+@)?(?P<host>[^@/:]{2,}):(?!//)(?P<path>.+)")
_FOREIGN = re.compile(r"[^\w.-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """Id of a library and a version; '' is the default branch."""

    library_id: str
    version: str = ""


def library_id_of(*, url: str, title: str, key: str) -> str:
    """Return the preferred id of a source: from the repository's address, else from its title or its key."""
    return git_library_id(url) or local_library_id(title, key)


def git_library_id(url: str) -> str | None:
    """Return `/owner/repo` of a git repository's address, deeper groups joined with `-`; None for others."""
    parts = [part for part in map(_normalise_part, _repository_path(url).split("/")) if part]
    if len(parts) < 2:
        return None
    *groups, name = parts
    return f"/{'-'.join(groups)[:_MAX_PART_CHARS]}/{name}"


def local_library_id(title: str, key: str) -> str:
    """Return `/local/<slug>` of the title, or of the key if the title has no Latin letter or digit."""
    slug = slugify(title).replace("_", "-")[:_MAX_SLUG_CHARS].strip("-")
    return f"/{LOCAL}/{slug or key}"


def first_free(wanted: str, taken: Collection[str]) -> str:
    """Return `wanted`, or the first of `wanted-2`, `wanted-3`, … that is free."""
    if wanted not in taken:
        return wanted
    return next(numbered for n in count(2) if (numbered := f"{wanted}-{n}") not in taken)


def format_reference(reference: Reference) -> str:
    """Return a reference as `/owner/repo` or `/owner/repo@v1.2`."""
    return f"{reference.library_id}@{reference.version}" if reference.version else reference.library_id


def parse_references(text: str) -> tuple[Reference, ...]:
    """Parse an id to its possible interpretations, most likely first; existing libraries decide among them.

    `/a/b/c` is the version `c` of `/a/b`, or `/a-b/c` of a deeper group. Text written by `format_reference`
    has one interpretation. Raises InvalidLibraryId.
    """
    parts = text.removeprefix("/").split("/")
    interpretations = () if len(parts) > _MAX_PARTS else tuple(_interpretations(parts, text))
    if not text.startswith("/") or not interpretations:
        raise InvalidLibraryId(
            f"{preview(text)} is not a library's id; it looks like /owner/repo or /owner/repo@v1.2."
        )
    return interpretations


def _interpretations(parts: list[str], text: str) -> Iterator[Reference]:
    for length in range(2, len(parts) + 1):
        library_id = _join(parts[:length])
        if library_id is not None and all(parts[length:]):
            yield Reference(library_id=library_id, version="/".join(parts[length:]))
    before, _, version = text.partition("@")
    library_id = _join(before.removeprefix("/").split("/"))
    if library_id is not None and version:
        yield Reference(library_id=library_id, version=version)


def _join(parts: list[str]) -> str | None:
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


def _normalise_part(name: str) -> str:
    """Normalise a part of a path for an id; empty for `.`, `..` and punctuation alone."""
    normalised = _FOREIGN.sub("-", unicodedata.normalize("NFC", name)).strip("-")[:_MAX_PART_CHARS]
    return normalised if normalised.strip(".") else ""
