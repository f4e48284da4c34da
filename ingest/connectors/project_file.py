"""`kebab.json` at the root of a source: how its owner wants it presented, and which parts of it read."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from unicodedata import normalize

from ingest.connectors.chosen_folders import clean_pattern
from ingest.connectors.errors import ListingFailed
from search.models.source import MAX_TAG_CHARS, MAX_TITLE_CHARS
from search.retrieval.text.cleaning import is_storable

#: The first of them that is there is read.
PROJECT_FILES: Final = ("kebab.json", "context7.json", "trueref.json")
MAX_FILE_BYTES: Final = 256 * 1024
MAX_ITEMS: Final = 1_000
MAX_ITEM_CHARS: Final = 1_000
MAX_DESCRIPTION_CHARS: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongKey:
    """A key whose value can't be used; '' is the file as a whole."""

    key: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectFile:
    """What a project file says; None where it says nothing. With something wrong in it, it says nothing."""

    name: str
    title: str | None = None
    description: str | None = None
    rules: tuple[str, ...] | None = None
    #: Paths from the root; empty: all of the source.
    folders: tuple[str, ...] = ()
    #: They win over `folders`.
    excluded_folders: tuple[str, ...] = ()
    #: Names, without a folder.
    excluded_files: frozenset[str] = frozenset()
    #: Titles by tag.
    previous_versions: Mapping[str, str] | None = None
    wrong: tuple[WrongKey, ...] = ()


def read_project_file(root: Path) -> ProjectFile | None:
    """Return what the source's project file says, None when it has none; other keys mean nothing to us.

    Raises ListingFailed when it is there and can't be read: what it leaves out must not be indexed.
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
    """Return what a project file of this content says."""
    try:
        values = _json_object(content)
    except ValueError as error:
        return ProjectFile(name=name, wrong=(WrongKey(key="", message=str(error)),))
    reading = _Reading(values)
    said = ProjectFile(
        name=name,
        title=reading.text("projectTitle", MAX_TITLE_CHARS),
        description=reading.text("description", MAX_DESCRIPTION_CHARS),
        rules=reading.texts("rules"),
        folders=reading.texts("folders", _refused_folder) or (),
        excluded_folders=reading.texts("excludeFolders", _refused_exclusion) or (),
        excluded_files=frozenset(
            normalize("NFC", name) for name in reading.texts("excludeFiles", _refused_file) or ()
        ),
        previous_versions=reading.versions("previousVersions"),
    )
    return ProjectFile(name=name, wrong=tuple(reading.wrong)) if reading.wrong else said


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
class _Reading:
    """Reads one key after another and notes what is wrong."""

    values: Mapping[str, Any]
    wrong: list[WrongKey] = field(default_factory=list)

    def text(self, key: str, most_chars: int) -> str | None:
        value = self.values.get(key, "")
        if not self._is_text(key, value, most_chars):
            return None
        return value.strip() or None

    def texts(self, key: str, refused: Callable[[str], str] = lambda text: "") -> tuple[str, ...] | None:
        items = self._items(key)
        for nth, item in enumerate(items or ()):
            place = f"{key}[{nth}]"
            if self._is_text(place, item, MAX_ITEM_CHARS) and (why := refused(item)):
                self._refuse(place, why)
        return None if items is None or self.wrong else tuple(item.strip() for item in items if item.strip())

    def versions(self, key: str) -> Mapping[str, str] | None:
        items = self._items(key)
        for nth, item in enumerate(items or ()):
            place = f"{key}[{nth}]"
            if not isinstance(item, dict):
                self._refuse(place, 'It must be an object like {"tag": "v1.0", "title": "version 1.0"}.')
                continue
            if self._is_text(f"{place}.tag", item.get("tag"), MAX_TAG_CHARS) and not item["tag"].strip():
                self._refuse(f"{place}.tag", "It is empty; name a tag.")
            self._is_text(f"{place}.title", item.get("title", ""), MAX_TITLE_CHARS)
        if items is None or self.wrong:
            return None
        return {item["tag"].strip(): item.get("title", "").strip() for item in items}

    def _items(self, key: str) -> Sequence[Any] | None:
        if key not in self.values:
            return None
        items = self.values[key]
        if not isinstance(items, list):
            self._refuse(key, "It must be a list.")
            return None
        if len(items) > MAX_ITEMS:
            self._refuse(key, f"It has more than {MAX_ITEMS} items.")
        return items[:MAX_ITEMS]

    def _is_text(self, key: str, value: Any, most_chars: int) -> bool:
        if not isinstance(value, str):
            self._refuse(key, "It must be a text.")
        elif len(value) > most_chars:
            self._refuse(key, f"It has more than {most_chars} characters.")
        elif not is_storable(value):
            self._refuse(key, "It has a character that can't be stored.")
        else:
            return True
        return False

    def _refuse(self, key: str, message: str) -> None:
        self.wrong.append(WrongKey(key=key, message=message))


def _refused_folder(pattern: str) -> str:
    return "It leads out of the source." if ".." in pattern.strip().split("/") else ""


def _refused_exclusion(pattern: str) -> str:
    if not clean_pattern(pattern):
        return "It would leave out the whole source."
    return _refused_folder(pattern)


def _refused_file(name: str) -> str:
    return "It is a path; give a file's name alone, or a folder in excludeFolders." if "/" in name else ""
