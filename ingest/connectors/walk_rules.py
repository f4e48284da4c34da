"""Rules for skipping files of a folder, and the reasons."""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Self

from django.conf import settings

from ingest.parsers.file_types import MARKDOWN, code_language_of


class SkipReason(StrEnum):
    """Reasons for skipping a file: stable codes of a job's report."""

    IGNORED = "ignored"
    SKIPPED_DIRECTORY = "skipped_directory"
    LOCK_FILE = "lock_file"
    MINIFIED = "minified"
    GENERATED = "generated"
    TEMPORARY_FILE = "temporary_file"
    EXCLUDED_FOLDER = "excluded_folder"
    EXCLUDED_FILE = "excluded_file"
    OUTSIDE_FOLDERS = "outside_folders"
    TOO_LARGE = "too_large"
    EMPTY = "empty"
    UNDECODABLE_NAME = "undecodable_name"
    CONTROL_CHARACTER_IN_NAME = "control_character_in_name"
    UNSAFE_NAME = "unsafe_name"
    DUPLICATE_PATH = "duplicate_path"
    LINK = "link"
    SUBMODULE = "submodule"
    DIRECTORY_LINK = "directory_link"
    LINK_OUTSIDE = "link_outside"
    BROKEN_LINK = "broken_link"
    PRIVATE_PLACE = "private_place"
    SPECIAL_FILE = "special_file"
    VANISHED = "vanished"
    # web sites
    DISALLOWED_BY_ROBOTS = "disallowed_by_robots"
    NOINDEX = "noindex"
    NOT_FOUND = "not_found"
    NO_PARSER = "no_parser"
    EXCLUDED_PAGE = "excluded_page"
    LEADS_ELSEWHERE = "leads_elsewhere"
    REDIRECT_LOOP = "redirect_loop"
    MAX_PAGES = "max_pages"
    MAX_DEPTH = "max_depth"
    SAME_TEXT = "same_text"
    EMPTY_PAGE = "empty_page"
    MANY_ALIKE = "many_alike"
    # connectors of records
    NOT_PERMITTED = "not_permitted"
    ARCHIVED = "archived"
    # archives
    ABSOLUTE_PATH = "absolute_path"
    PATH_OUTSIDE = "path_outside"
    BACKSLASH_IN_PATH = "backslash_in_path"
    PATH_TOO_LONG = "path_too_long"
    SPARSE_FILE = "sparse_file"
    NESTED_ARCHIVE = "nested_archive"
    UNKNOWN_COMPRESSION = "unknown_compression"
    # exports of other products
    EXPORT_FILE = "export_file"


#: code by their names, but with the limit of documents: whole exports of other products
DUMPS: Final = frozenset({"entities.xml"})
#: The largest document that is read by default.
MAX_FILE_BYTES: Final = 100 * 1024**2
GIT_IGNORE: Final = ".gitignore"
#: directories of version control: not even an ignore file can include these
VERSION_CONTROL: Final = frozenset({".git", ".hg", ".svn"})
SKIPPED_DIRECTORIES: Final = frozenset(
    {"node_modules", "dist", "build", "vendor", "target", "__pycache__", ".venv", "coverage"}
)
#: those whose names hand-written documentation uses too, as in docs/build/
OUTPUT_DIRECTORIES: Final = frozenset({"dist", "build", "target", "coverage"})
PROSE_EXTENSIONS: Final = MARKDOWN | {"rst"}
#: fewer prose files than this come from a build (a README, a licence)
LEAST_PROSE_FILES: Final = 5
_LOCK_FILE_NAMES: Final = """
bun.lock bun.lockb cargo.lock composer.lock deno.lock flake.lock gemfile.lock go.sum gradle.lockfile mix.lock
npm-shrinkwrap.json package-lock.json packages.lock.json pdm.lock pipfile.lock pnpm-lock.yaml podfile.lock
poetry.lock pubspec.lock uv.lock yarn.lock
"""
LOCK_FILES: Final = frozenset(_LOCK_FILE_NAMES.split())
MINIFIED: Final = re.compile(
    r"[.-]min\.(?:js|mjs|cjs|css|html?)$|\.(?:bundle|chunk)\.m?js$|\.(?:js|css|ts)\.map$"
)
GENERATED: Final = re.compile(
    r"_pb2(?:_grpc)?\.pyi?$|\.pb\.(?:go|h|cc|dart|swift)$|\.(?:g|freezed)\.dart$"
    r"|\.(?:designer|g)\.(?:cs|vb)$|[._-]generated\.[a-z]+$"
)
#: backups, locks and unsaved text of editors and office programs, downloads under way, files of a desktop
TEMPORARY: Final = re.compile(
    r"~\$.*|\.~lock\..*#|\.#.*|#.*#|~wr[adl]\d+\.tmp|\._.*|.+~|.+\.(?:bak|orig|rej|old|tmp|temp)|\..+\.sw[a-p]"
    r"|.+\.(?:crdownload|part|partial)|thumbs\.db|ehthumbs\.db|desktop\.ini|\.ds_store|\.directory|icon\r"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WalkRules:
    """The rules of a walk; the defaults are those of the documentation."""

    #: names of directories to skip at any depth, unless an ignore file includes one with `!`
    skipped_directories: frozenset[str] = SKIPPED_DIRECTORIES
    #: names of ignore files; at one level a later name overrules an earlier one
    ignore_files: tuple[str, ...] = (GIT_IGNORE, ".kebabignore")
    #: folders to read, by path from the root; empty for all (see ingest.connectors.chosen_folders)
    folders: tuple[str, ...] = ()
    #: folders to skip; they take precedence over `folders`
    excluded_folders: tuple[str, ...] = ()
    #: names of files to skip, at any depth
    excluded_files: frozenset[str] = frozenset()
    max_code_bytes: int = 512 * 1024
    max_document_bytes: int = MAX_FILE_BYTES

    @classmethod
    def from_settings(cls, **overrides: Any) -> Self:
        """Return rules with the size limits of the settings."""
        return cls(
            max_code_bytes=settings.KEBAB_CODE_LIMIT_BYTES,
            max_document_bytes=settings.KEBAB_DOCUMENT_LIMIT_BYTES,
            **overrides,
        )

    def skip_reason_for_name(self, path: str) -> SkipReason | None:
        """Return the reason why a file of this name is skipped by default, or None."""
        name = path.rpartition("/")[2].lower()
        if name in LOCK_FILES:
            return SkipReason.LOCK_FILE
        if TEMPORARY.fullmatch(name):
            return SkipReason.TEMPORARY_FILE
        if MINIFIED.search(name):
            return SkipReason.MINIFIED
        return SkipReason.GENERATED if GENERATED.search(name) else None

    def is_too_large(self, path: str, size_bytes: int) -> bool:
        """Return whether a file exceeds the limit of its kind, code or document."""
        if size_bytes <= min(self.max_code_bytes, self.max_document_bytes):
            return False
        return size_bytes > self.max_bytes(path)

    def max_bytes(self, path: str) -> int:
        """Return the limit of a file of this name."""
        is_code = code_language_of(path) is not None and path.rpartition("/")[2] not in DUMPS
        return self.max_code_bytes if is_code else self.max_document_bytes
