"""A shallow bare copy of a repository: brought to the commit that is to be read, and looked through."""

import logging
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from ingest.connectors.errors import ListingFailed, RepositoryTooLarge
from ingest.connectors.git.command import Git
from ingest.connectors.git.local_copy import Place
from ingest.connectors.git.messages import is_about_the_copy
from ingest.connectors.git.references import Wanted, kept_reference, read_advertised

logger = logging.getLogger(__name__)

_SHA1_DIGITS = 40
# Each fetch leaves a pack; with many of them looking an object up is slow, and what was dropped stays.
_MOST_PACKS = 20
_STRICT = "--upload-pack=git-upload-pack --strict"
_FETCH = (
    "fetch",
    "--quiet",
    "--force",
    "--depth=1",
    "--no-tags",
    "--no-recurse-submodules",
    "--no-write-fetch-head",
    "--no-auto-gc",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """The copy of one source's repository, for the worker that holds its lock."""

    place: Place
    url: str
    git: Git

    def holds(self, tag: str, commit: str) -> bool:
        """Return whether the copy has this commit for the version `tag`."""
        return self.place.git_dir.exists() and self._kept(tag, "^{commit}") == commit

    def advertised(self, *names: str) -> dict[str, str]:
        """Return what the host says that references stand for now, by full name. Raises ListingFailed."""
        output = self.git.run(
            "ls-remote",
            "--quiet",
            *self._other_side,
            "--",
            self.url,
            *names,
            limit_s=settings.KEBAB_GIT_LIMIT_S,
        )
        return read_advertised(output)

    def commit_of(self, tag: str, wanted: Wanted, advertised: Mapping[str, str]) -> str:
        """Fetch what `wanted` stands for by `advertised`, keep it for the version `tag`, give its commit.

        Raises ListingFailed.
        """
        reference = wanted.chosen(advertised)
        self._make(advertised[reference])
        if self._kept(tag) != advertised[reference]:
            self._fetch_again(reference, tag)
        return self._peeled(tag)

    def same_commit(self, tag: str, commit: str) -> str:
        """Fetch the commit that a job began with, and give it. Raises ListingFailed when it is gone."""
        self._make(commit)
        self._fetch_again(commit, tag)
        return self._peeled(tag)

    def _make(self, object_name: str) -> None:
        """Have a bare repository that holds objects with names of this length."""
        kind = "sha1" if len(object_name) == _SHA1_DIGITS else "sha256"
        if self.place.git_dir.exists() and not self._is_usable(kind):
            shutil.rmtree(self.place.git_dir)
        if not self.place.git_dir.exists():
            options = ("--quiet", "--bare", "--template=", "--initial-branch=none", f"--object-format={kind}")
            self.git.run("init", *options)
        for lock in (*self.place.git_dir.glob("*.lock"), *self.place.git_dir.glob("refs/**/*.lock")):
            lock.unlink()  # of a git that was killed: nobody else is here

    def _is_usable(self, kind: str) -> bool:
        try:
            return self.git.run("rev-parse", "--show-object-format").decode().strip() == kind
        except ListingFailed:
            return False

    def _kept(self, tag: str, peel: str = "") -> str:
        """Return the object that the copy keeps for a version, "" for none."""
        try:
            name = f"{kept_reference(tag)}{peel}"
            return self.git.run("rev-parse", "--verify", "--quiet", "--end-of-options", name).decode().strip()
        except ListingFailed:
            return ""

    def _peeled(self, tag: str) -> str:
        commit = self._kept(tag, "^{commit}")
        if not commit:
            raise ListingFailed("The tag doesn't name a commit.")
        return commit

    def _fetch_again(self, source: str, tag: str) -> None:
        """Fetch, and once more into a new copy when ours may be damaged."""
        try:
            self._fetch(source, tag)
        except ListingFailed as error:
            if not is_about_the_copy(str(error)):
                raise
            logger.warning("the copy at %s is made anew: %s", self.place.git_dir, error)
            kind = self.git.run("rev-parse", "--show-object-format").decode().strip()
            shutil.rmtree(self.place.git_dir)
            self._make("0" * (_SHA1_DIGITS if kind == "sha1" else 64))
            self._fetch(source, tag)
        self._tidy()

    def _fetch(self, source: str, tag: str) -> None:
        try:
            self.git.run(
                *_FETCH,
                *self._other_side,
                "--",
                self.url,
                f"+{source}:{kept_reference(tag)}",
                limit_s=settings.KEBAB_GIT_LIMIT_S,
                size_bytes=lambda: self.place.size_bytes,
            )
        except RepositoryTooLarge:
            # What has come is part of it by now; the next sync begins with what it needs alone.
            shutil.rmtree(self.place.git_dir)
            raise
        except ListingFailed:
            for begun in (self.place.git_dir / "objects").glob("**/tmp_*"):
                begun.unlink(missing_ok=True)
            raise

    @property
    def _other_side(self) -> tuple[str, ...]:
        """Options by which git reads the folder of a file address and no other whose name begins with it."""
        return (_STRICT,) if self.url.startswith("file:") else ()

    def _tidy(self) -> None:
        packs = list(Path(self.place.git_dir, "objects", "pack").glob("*.pack"))
        if len(packs) <= _MOST_PACKS:
            return
        try:
            self.git.run("gc", "--quiet", "--prune=now")
        except ListingFailed as error:
            logger.warning("the copy at %s can't be tidied: %s", self.place.git_dir, error)
