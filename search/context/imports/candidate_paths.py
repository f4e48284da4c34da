"""Candidate paths of imported files, relative to the importing file. Paths are POSIX and relative."""

import posixpath
from dataclasses import dataclass
from typing import Final

_MAX_FOLDERS = 16

#: The part of a path before the package's folders, as in the source layout of Maven and Gradle.
SOURCE_ROOT: Final = "^(.*/)?src/[^/]+/[^/]+/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """One imported file or package."""

    #: Candidate paths of the file, most likely first; the first that exists is the file.
    paths: tuple[str, ...] = ()
    #: The same for a package that is a folder of files with the importing file's extension.
    folders: tuple[str, ...] = ()
    #: Paths below a source root (`SOURCE_ROOT`) of any module, tried when none of `paths` exists.
    below_roots: tuple[str, ...] = ()
    #: Names that the text visibly uses of it.
    names: tuple[str, ...] = ()


def folder_of(path: str) -> str:
    """Return the folder of `path`; empty for the root."""
    return posixpath.dirname(path)


def resolve_path(folder: str, name: str) -> str:
    """Resolve `name`, which may contain `..`, against `folder`; empty when it leads outside the root."""
    joined = posixpath.normpath(posixpath.join(folder, name))
    return "" if joined.startswith("..") or joined in {".", "/"} else joined


def folders_above(path: str) -> list[str]:
    """Return the folder of `path` and its parents, nearest first and the root last; 16 at most."""
    folders = [folder_of(path)]
    while folders[-1]:
        folders.append(folder_of(folders[-1]))
    return folders[:_MAX_FOLDERS]
