"""Where imported files may lie, seen from the file that imports them. Paths are POSIX and relative."""

import posixpath
from dataclasses import dataclass
from typing import Final

_MAX_FOLDERS = 16

#: What comes before the part of a path that a package names, as Maven and Gradle lay sources out.
SOURCE_ROOT: Final = "^(.*/)?src/[^/]+/[^/]+/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """One imported file or package."""

    #: Where the file may lie, likeliest first: the first that exists is it.
    paths: tuple[str, ...] = ()
    #: The same for a package that is a folder of files with the importing file's extension.
    folders: tuple[str, ...] = ()
    #: Paths below a source root (`SOURCE_ROOT`) of any module, where it is at none of `paths`.
    below_roots: tuple[str, ...] = ()
    #: What is used of it, as far as the text says.
    names: tuple[str, ...] = ()


def folder_of(path: str) -> str:
    """Return the folder in which `path` lies, empty for the root."""
    return posixpath.dirname(path)


def inside(folder: str, name: str) -> str:
    """Return the path of `name`, which may have `..` in it, seen from `folder`; empty when it leads out."""
    joined = posixpath.normpath(posixpath.join(folder, name))
    return "" if joined.startswith("..") or joined in {".", "/"} else joined


def folders_above(path: str) -> list[str]:
    """Return the folder of `path` and those above it, nearest first, the root last; the 16 nearest
    of them.
    """
    folders = [folder_of(path)]
    while folders[-1]:
        folders.append(folder_of(folders[-1]))
    return folders[:_MAX_FOLDERS]
