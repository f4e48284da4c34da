"""Project files: `kebab.json` at the root of a source describes it and selects the folders to read."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from unicodedata import normalize

from ingest.connectors.chosen_folders import clean_pattern
from ingest.connectors.errors import ListingFailed
from search.models.source import MAX_TAG_CHARS, MAX_TITLE_CHARS
from search.retrieval.text.sanitize import is_storable

#: Names in order of precedence: the first existing file is read.
PROJECT_FILES: Final = ("kebab.json", "context7.json", "trueref.json")
MAX_FILE_BYTES: Final = 256 * 1024
MAX_ITEMS: Final = 1_000
MAX_ITEM_CHARS: Final = 1_000
MAX_DESCRIPTION_CHARS: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class InvalidKey:
    """An error: a key with an invalid value; the key '' means the whole file."""

    key: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectFile:
    """The fields of a project file; None for those not stated. A file with errors has no other fields."""

    name: str
    title: str | None = None
    description: str | None = None
    rules: tuple[str, ...] | None = None
    #: Paths from the root; empty for the whole source.
    folders: tuple[str, ...] = ()
    #: They take precedence over `folders`.
    excluded_folders: tuple[str, ...] = ()
    #: Names, without a folder.
    excluded_files: frozenset[str] = frozenset()
    #: Titles by tag.
    previous_versions: Mapping[str, str] | None = None
    errors: tuple[InvalidKey, ...] = ()


def read_project_file(root: Path) -> ProjectFile | None:
    """Return the parsed project file of a source, None when it has none; unknown keys are ignored.

    Raises ListingFailed when it exists and can't be read: the folders it excludes must not be indexed.
    """
    for name in PROJECT_FILES:
        file = root / name
        try:
            if file.is_file() and not file.is_symlink():
                with file.open("rb") as opened:
                    return parse_project_file(name, opened.read(MAX_FILE_BYTES + 1))
        except OSError as error:
            raise ListingFailed(f"{name} can't be read: {error.strerror or error}.") from error
    return None


def parse_project_file(name: str, content: bytes) -> ProjectFile:
    """Parse the content of a project file."""
    try:
        values = _json_object(content)
    except ValueError as error:
        return ProjectFile(name=name, errors=(InvalidKey(key="", message=str(error)),))
    reader = _KeyReader(values)
    project = ProjectFile(
        name=name,
        title=reader.read_text("projectTitle", MAX_TITLE_CHARS),
        description=reader.read_text("description", MAX_DESCRIPTION_CHARS),
        rules=reader.read_texts("rules"),
        folders=reader.read_texts("folders", _folder_error) or (),
        excluded_folders=reader.read_texts("excludeFolders", _exclusion_error) or (),
        excluded_files=frozenset(
            normalize("NFC", name) for name in reader.read_texts("excludeFiles", _file_error) or ()
        ),
        previous_versions=reader.read_versions("previousVersions"),
    )
    return ProjectFile(name=name, errors=tuple(reader.errors)) if reader.errors else project


def _json_object(content: bytes) -> Mapping[str, Any]:
    if len(content) > MAX_FILE_BYTES:
        raise ValueError(f"It is larger than {MAX_FILE_BYTES} bytes.")
    try:
        values = json.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise ValueError(f"It is not UTF-8 at byte {error.start}.") from error
    except RecursionError as error:
        raise ValueError("It is nested too deep.") from error
    except ValueError as error:
        raise ValueError(f"It is not JSON: {error}.") from error
    if not isinstance(values, dict):
        raise ValueError("It is not a JSON object.")
    return values


@dataclass(slots=True)
class _KeyReader:
    """A reader of single keys that collects errors."""

    values: Mapping[str, Any]
    errors: list[InvalidKey] = field(default_factory=list)

    def read_text(self, key: str, most_chars: int) -> str | None:
        value = self.values.get(key, "")
        if not self._is_text(key, value, most_chars):
            return None
        return value.strip() or None

    def read_texts(
        self, key: str, error_of: Callable[[str], str] = lambda text: ""
    ) -> tuple[str, ...] | None:
        items = self._read_items(key)
        for nth, item in enumerate(items or ()):
            place = f"{key}[{nth}]"
            if self._is_text(place, item, MAX_ITEM_CHARS) and (message := error_of(item)):
                self._add_error(place, message)
        return None if items is None or self.errors else tuple(item.strip() for item in items if item.strip())

    def read_versions(self, key: str) -> Mapping[str, str] | None:
        items = self._read_items(key)
        for nth, item in enumerate(items or ()):
            place = f"{key}[{nth}]"
            if not isinstance(item, dict):
                self._add_error(place, 'It must be an object like {"tag": "v1.0", "title": "version 1.0"}.')
                continue
            if self._is_text(f"{place}.tag", item.get("tag"), MAX_TAG_CHARS) and not item["tag"].strip():
                self._add_error(f"{place}.tag", "It is empty; name a tag.")
            self._is_text(f"{place}.title", item.get("title", ""), MAX_TITLE_CHARS)
        if items is None or self.errors:
            return None
        return {item["tag"].strip(): item.get("title", "").strip() for item in items}

    def _read_items(self, key: str) -> Sequence[Any] | None:
        if key not in self.values:
            return None
        items = self.values[key]
        if not isinstance(items, list):
            self._add_error(key, "It must be a list.")
            return None
        if len(items) > MAX_ITEMS:
            self._add_error(key, f"It has more than {MAX_ITEMS} items.")
        return items[:MAX_ITEMS]

    def _is_text(self, key: str, value: Any, most_chars: int) -> bool:
        if not isinstance(value, str):
            self._add_error(key, "It must be a text.")
        elif len(value) > most_chars:
            self._add_error(key, f"It has more than {most_chars} characters.")
        elif not is_storable(value):
            self._add_error(key, "It has a character that can't be stored.")
        else:
            return True
        return False

    def _add_error(self, key: str, message: str) -> None:
        self.errors.append(InvalidKey(key=key, message=message))


def _folder_error(pattern: str) -> str:
    return "It leads out of the source." if ".." in pattern.strip().split("/") else ""


def _exclusion_error(pattern: str) -> str:
    if not clean_pattern(pattern):
        return "It would leave out the whole source."
    return _folder_error(pattern)


def _file_error(name: str) -> str:
    return "It is a path; give a file's name alone, or a folder in excludeFolders." if "/" in name else ""
