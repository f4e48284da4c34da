"""Names of branches and tags: which can be one, and what a name stands for in a repository."""

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
class Wanted:
    """What is to be read of a repository."""

    #: a tag, a branch, or "" for what the repository calls its default
    name: str
    #: whether a branch goes before a tag of the same name
    is_branch_first: bool = False

    @property
    def candidates(self) -> tuple[str, ...]:
        """Full names that it may stand for, the likeliest first. Raises ListingFailed."""
        if not self.name:
            return ("HEAD",)
        if _NEVER.search(self.name):
            raise ListingFailed(f"{self.name[:100]!r} can't be the name of a tag or a branch.")
        tag, branch = f"refs/tags/{self.name}", f"refs/heads/{self.name}"
        return (branch, tag) if self.is_branch_first else (tag, branch)

    def chosen(self, advertised: Mapping[str, str]) -> str:
        """Return the full name among those that the repository has. Raises ListingFailed."""
        for candidate in self.candidates:
            if candidate in advertised:
                return candidate
        if self.name:
            raise ListingFailed(f"The repository has no tag and no branch {self.name[:100]!r}.")
        raise ListingFailed("The repository has no commit yet, or no default branch; name a branch.")


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedCommits:
    """The commits that a repository's tags and branches stand for now, by name."""

    tags: Mapping[str, str] = field(default_factory=dict)
    branches: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, advertised: Mapping[str, str]) -> Self:
        """Return them from object names by full reference; a tag that has a message is peeled."""
        tags = _below("refs/tags/", advertised)
        peeled = {name: tags.get(f"{name}{_PEELED}", found) for name, found in tags.items()}
        return cls(
            tags={name: found for name, found in peeled.items() if not name.endswith(_PEELED)},
            branches=_below("refs/heads/", advertised),
        )

    def of_version(self, tag: str) -> str | None:
        """Return the commit of a version: its tag's, else the branch's of that name; None for neither."""
        return self.tags.get(tag, self.branches.get(tag))


def _below(prefix: str, advertised: Mapping[str, str]) -> dict[str, str]:
    return {name.removeprefix(prefix): found for name, found in advertised.items() if name.startswith(prefix)}


def kept_reference(tag: str) -> str:
    """Return the reference under which our copy keeps what a version of the source stands at."""
    return f"refs/kebab/{hashlib.blake2b(tag.encode(), digest_size=16).hexdigest()}"


def read_advertised(output: bytes) -> dict[str, str]:
    """Return object names by full reference, from the lines of `git ls-remote`."""
    lines = (line.split("\t", 1) for line in output.decode(errors="surrogateescape").splitlines())
    return {parts[1]: parts[0] for parts in lines if len(parts) == 2}
