"""References of repositories: names of branches and tags, and the commits that they point to."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Self

from ingest.connectors.errors import ListingFailed

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
