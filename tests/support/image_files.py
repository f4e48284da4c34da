"""Recreate the image's /app from the build file and the ignore file, without a builder."""

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tests.acceptance.deploy.servers_by_tcp import DEPLOY

CHECKOUT = DEPLOY.parent
CONTAINERFILE = DEPLOY / "image" / "Containerfile"
IGNORED = DEPLOY / "image" / "Containerfile.dockerignore"
APPLICATION = PurePosixPath("/app")


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """A COPY of the build file."""

    stage: str
    #: The stage that it takes from; '': the context.
    origin: str
    sources: tuple[str, ...]
    target: str


def copies(text: str) -> list[Copy]:
    """Return the COPY instructions of a build file. Raises ValueError for an unsupported one."""
    stage, found = "", []
    for line in text.replace("\\\n", " ").splitlines():
        word, *rest = line.split() or [""]
        if word == "FROM":
            stage = rest[2] if len(rest) == 3 else ""
        elif word in {"COPY", "ADD"}:
            found.append(_copy(stage, line, rest))
    return found


def _copy(stage: str, line: str, words: list[str]) -> Copy:
    flags = dict(word.removeprefix("--").split("=", 1) for word in words if word.startswith("--"))
    *sources, target = (word for word in words if not word.startswith("--"))
    is_plain = (
        line.startswith("COPY") and not line.endswith("]") and flags.keys() <= {"from", "chmod", "chown"}
    )
    if not is_plain or not sources:
        raise ValueError(f"{line!r} can't be followed.")
    return Copy(stage=stage, origin=flags.get("from", ""), sources=tuple(sources), target=target)


def make_application(
    folder: Path, *, context: Path = CHECKOUT, build_file: Path = CONTAINERFILE, ignored: Path = IGNORED
) -> None:
    """Copy into `folder` the files that the image has in /app.

    Raises ValueError where the last stage doesn't take it whole from the one that makes it, or a COPY names
    what the ignore file doesn't let in.
    """
    found = copies(build_file.read_text())
    taken = [copy for copy in found if copy.stage == found[-1].stage and copy.target == str(APPLICATION)]
    if len(taken) != 1 or taken[0].sources != (str(APPLICATION),):
        raise ValueError(f"The image takes {taken} for {APPLICATION}.")
    for copy in found:
        if copy.stage == taken[0].origin and PurePosixPath(copy.target).is_relative_to(APPLICATION):
            _bring(copy, folder, context, Ignored(ignored.read_text()))


def _bring(copy: Copy, folder: Path, context: Path, ignored: "Ignored") -> None:
    target = folder / PurePosixPath(copy.target).relative_to(APPLICATION)
    for source in (path for each in copy.sources for path in sorted(context.glob(each)) or [context / each]):
        let_in = list(_let_in(source, context, ignored))
        if not let_in:
            raise ValueError(f"The ignore file lets nothing in of {source.relative_to(context)}.")
        # The content of a folder is copied; a file goes into a target whose name ends with a slash.
        is_renamed = source.is_file() and not copy.target.endswith("/")
        above = source if source.is_dir() else source.parent
        for file in let_in:
            place = target if is_renamed else target / file.relative_to(above)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, place)


def _let_in(source: Path, context: Path, ignored: "Ignored") -> Iterator[Path]:
    for file in sorted(source.rglob("*")) if source.is_dir() else [source]:
        if file.is_file() and not ignored.holds(file.relative_to(context).as_posix()):
            yield file


class Ignored:
    """An ignore file (https://docs.docker.com/build/concepts/context/#dockerignore-files).

    The last pattern that fits a file, or a folder above it, decides; a `!` before it lets the file in.
    """

    def __init__(self, text: str) -> None:
        lines = (line.strip() for line in text.splitlines())
        self._rules = [
            (not line.startswith("!"), _pattern(line.removeprefix("!").strip("/")))
            for line in lines
            if line and not line.startswith("#")
        ]

    def holds(self, path: str) -> bool:
        """Return whether a path, relative to the context, is left out."""
        names = [path, *map(str, PurePosixPath(path).parents)]
        fitting = [
            is_out for is_out, pattern in self._rules if any(pattern.fullmatch(name) for name in names)
        ]
        return bool(fitting) and fitting[-1]


def _pattern(text: str) -> re.Pattern[str]:
    patterns = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    parts = re.split(r"(\*\*/|\*\*|\*|\?|\[[^]]+\])", text)
    return re.compile(
        "".join(patterns.get(part, part if part[:1] == "[" else re.escape(part)) for part in parts)
    )
