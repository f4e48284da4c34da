"""A shallow bare copy of a repository, which fetches the commits to read."""

import hashlib
import logging
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self

from django.conf import settings

from ingest.connectors.errors import ListingFailed, RepositoryTooLarge
from ingest.connectors.git.command import Git
from ingest.connectors.git.local_copy import CopyPaths
from ingest.connectors.git.messages import suggests_damaged_copy

# git-check-ref-format(1)
_NEVER: Final = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|^[-/]|[/.]$|(?:^|/)\.|\.lock(?:/|$)|^@$")
_PEELED: Final = "^{}"
#: Patterns of `git ls-remote` for every tag and branch.
ALL_NAMES: Final = ("refs/tags/*", "refs/heads/*")


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedRef:
    """A tag or branch to read, by name."""

    #: a tag, a branch, or "" for the repository's default branch
    name: str
    #: whether a branch takes precedence over a tag of the same name
    is_branch_first: bool = False

    @property
    def candidates(self) -> tuple[str, ...]:
        """Return the full names that it may mean, in order of precedence. Raises ListingFailed."""
        if not self.name:
            return ("HEAD",)
        if _NEVER.search(self.name):
            raise ListingFailed(f"{self.name[:100]!r} can't be the name of a tag or a branch.")
        tag, branch = f"refs/tags/{self.name}", f"refs/heads/{self.name}"
        return (branch, tag) if self.is_branch_first else (tag, branch)

    def choose(self, advertised: Mapping[str, str]) -> str:
        """Return the first candidate that the repository has. Raises ListingFailed."""
        for candidate in self.candidates:
            if candidate in advertised:
                return candidate
        if self.name:
            raise ListingFailed(f"The repository contains no tag or branch {self.name[:100]!r}.")
        raise ListingFailed("The repository is empty or lacks a default branch; name a branch.")


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedCommits:
    """The commits of a repository's tags and branches, by name."""

    tags: Mapping[str, str] = field(default_factory=dict)
    branches: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_advertised(cls, advertised: Mapping[str, str]) -> Self:
        """Build it from object names by full reference; annotated tags are peeled."""
        tags = _strip_prefix("refs/tags/", advertised)
        peeled = {name: tags.get(f"{name}{_PEELED}", found) for name, found in tags.items()}
        return cls(
            tags={name: found for name, found in peeled.items() if not name.endswith(_PEELED)},
            branches=_strip_prefix("refs/heads/", advertised),
        )

    def commit_of_version(self, tag: str) -> str | None:
        """Return the commit of the tag, else of the branch, with a version's name; None without either."""
        return self.tags.get(tag, self.branches.get(tag))


def _strip_prefix(prefix: str, advertised: Mapping[str, str]) -> dict[str, str]:
    return {name.removeprefix(prefix): found for name, found in advertised.items() if name.startswith(prefix)}


def local_reference(tag: str) -> str:
    """Return the reference in the local copy for the commit of a version of the source."""
    return f"refs/kebab/{hashlib.blake2b(tag.encode(), digest_size=16).hexdigest()}"


def parse_refs(output: bytes) -> dict[str, str]:
    """Parse the output of `git ls-remote` into object names by full reference."""
    lines = (line.split("\t", 1) for line in output.decode(errors="surrogateescape").splitlines())
    return {parts[1]: parts[0] for parts in lines if len(parts) == 2}


logger = logging.getLogger(__name__)

_SHA1_DIGITS = 40
# Each fetch leaves a pack; many of them make lookups slow and retain unreferenced objects.
_MOST_PACKS = 20
#: A branch or a tag takes about 70 bytes: enough for a hundred thousand.
_MAX_REFERENCES_BYTES = 8_000_000
_STRICT = "--upload-pack=git-upload-pack --strict"
_FETCH = (
    *("fetch", "--quiet", "--force", "--depth=1", "--no-tags"),
    *("--no-recurse-submodules", "--no-write-fetch-head", "--no-auto-gc"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """The local copy of one source's repository, for the worker that holds its lock."""

    paths: CopyPaths
    url: str
    git: Git

    def holds(self, tag: str, commit: str) -> bool:
        """Return whether the copy has this commit for the version `tag`."""
        return self.paths.git_dir.exists() and self._resolve_tag(tag, "^{commit}") == commit

    def list_remote_refs(self, *names: str) -> dict[str, str]:
        """Return the object names of references on the remote host, by full name. Raises ListingFailed."""
        output = self.git.run(
            "ls-remote",
            "--quiet",
            *self._upload_pack_options,
            "--",
            self.url,
            *names,
            limit_s=settings.KEBAB_GIT_LIMIT_S,
            max_output_bytes=_MAX_REFERENCES_BYTES,
        )
        return parse_refs(output)

    def fetch_commit(self, tag: str, requested: RequestedRef, advertised: Mapping[str, str]) -> str:
        """Fetch the requested reference, at its object in `advertised`, for the version `tag`.

        Returns the commit. Raises ListingFailed.
        """
        reference = requested.choose(advertised)
        self._ensure_repository(advertised[reference])
        if self._resolve_tag(tag) != advertised[reference]:
            self._fetch_with_retry(reference, tag)
        return self._peel_tag(tag)

    def refetch_commit(self, tag: str, commit: str) -> str:
        """Fetch the commit that a job started with, and return it. Raises ListingFailed when it is gone."""
        self._ensure_repository(commit)
        self._fetch_with_retry(commit, tag)
        return self._peel_tag(tag)

    def _ensure_repository(self, object_name: str) -> None:
        """Create the bare repository if there is none for object names of this length; delete stale locks."""
        kind = "sha1" if len(object_name) == _SHA1_DIGITS else "sha256"
        if self.paths.git_dir.exists() and not self._is_usable(kind):
            shutil.rmtree(self.paths.git_dir)
        if not self.paths.git_dir.exists():
            options = ("--quiet", "--bare", "--template=", "--initial-branch=none", f"--object-format={kind}")
            self.git.run("init", *options)
        for lock in (*self.paths.git_dir.glob("*.lock"), *self.paths.git_dir.glob("refs/**/*.lock")):
            lock.unlink()  # left by a killed git; nothing else uses this copy

    def _is_usable(self, kind: str) -> bool:
        try:
            return self.git.run("rev-parse", "--show-object-format").decode().strip() == kind
        except ListingFailed:
            return False

    def _resolve_tag(self, tag: str, peel: str = "") -> str:
        """Return the object of a version in the local copy, "" for none."""
        try:
            name = f"{local_reference(tag)}{peel}"
            return self.git.run("rev-parse", "--verify", "--quiet", "--end-of-options", name).decode().strip()
        except ListingFailed:
            return ""

    def _peel_tag(self, tag: str) -> str:
        commit = self._resolve_tag(tag, "^{commit}")
        if not commit:
            raise ListingFailed("The tag doesn't name a commit.")
        return commit

    def _fetch_with_retry(self, source: str, tag: str) -> None:
        """Fetch; if the local copy may be damaged, fetch once more into a new one."""
        try:
            self._fetch(source, tag)
        except ListingFailed as error:
            if not suggests_damaged_copy(str(error)):
                raise
            logger.warning("the copy at %s is made anew: %s", self.paths.git_dir, error)
            kind = self.git.run("rev-parse", "--show-object-format").decode().strip()
            shutil.rmtree(self.paths.git_dir)
            self._ensure_repository("0" * (_SHA1_DIGITS if kind == "sha1" else 64))
            self._fetch(source, tag)
        self._collect_garbage()

    def _fetch(self, source: str, tag: str) -> None:
        try:
            self.git.run(
                *_FETCH,
                *self._upload_pack_options,
                "--",
                self.url,
                f"+{source}:{local_reference(tag)}",
                limit_s=settings.KEBAB_GIT_LIMIT_S,
                size_bytes=lambda: self.paths.size_bytes,
            )
        except RepositoryTooLarge:
            # Objects received so far are part of the copy; the next sync must start without them.
            shutil.rmtree(self.paths.git_dir)
            raise
        except ListingFailed:
            for temporary in (self.paths.git_dir / "objects").glob("**/tmp_*"):
                temporary.unlink(missing_ok=True)
            raise

    @property
    def _upload_pack_options(self) -> tuple[str, ...]:
        """Return options that make git read exactly the folder of a file URL, not one with a suffix added."""
        return (_STRICT,) if self.url.startswith("file:") else ()

    def _collect_garbage(self) -> None:
        packs = list(Path(self.paths.git_dir, "objects", "pack").glob("*.pack"))
        if len(packs) <= _MOST_PACKS:
            return
        try:
            self.git.run("gc", "--quiet", "--prune=now")
        except ListingFailed as error:
            logger.warning("the copy at %s can't be tidied: %s", self.paths.git_dir, error)
