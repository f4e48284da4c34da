"""Project files: `kebab.json` at the root of a source describes it and selects the folders to read."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final
from unicodedata import normalize

from pydantic import AfterValidator, ConfigDict, Field, StringConstraints, ValidationError
from pydantic.alias_generators import to_camel

from ingest.connectors.chosen_folders import clean_pattern
from ingest.connectors.errors import ListingFailed
from kebab.wire import adapter_of, locate_error
from search.models.source import MAX_TAG_CHARS, MAX_TITLE_CHARS

#: Names in order of precedence: the first existing file is read.
PROJECT_FILES: Final = ("kebab.json", "context7.json", "trueref.json")
MAX_FILE_BYTES: Final = 256 * 1024
MAX_ITEMS: Final = 1_000
MAX_ITEM_CHARS: Final = 1_000
MAX_DESCRIPTION_CHARS: Final = 10_000


def _check_folder(pattern: str) -> str:
    if ".." in pattern.split("/"):
        raise ValueError("Input leads out of the source")
    return pattern


def _check_exclusion(pattern: str) -> str:
    if not clean_pattern(pattern):
        raise ValueError("Input would leave out the whole source")
    return _check_folder(pattern)


def _check_file(name: str) -> str:
    if "/" in name:
        raise ValueError("Input is a path; give a file's name alone, or a folder in excludeFolders")
    return name


# Without NUL; what has half a surrogate is no text.
_Text = Annotated[str, StringConstraints(strip_whitespace=True, pattern=r"^[^\x00]*$")]
_Item = Annotated[_Text, Field(max_length=MAX_ITEM_CHARS)]
_AtMost = Field(max_length=MAX_ITEMS)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Version:
    tag: Annotated[_Text, Field(min_length=1, max_length=MAX_TAG_CHARS)]
    title: Annotated[_Text, Field(max_length=MAX_TITLE_CHARS)] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Keys:
    """The keys of a project file, in camel case; others are ignored."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(alias_generator=to_camel)

    project_title: Annotated[_Text, Field(max_length=MAX_TITLE_CHARS)] = ""
    description: Annotated[_Text, Field(max_length=MAX_DESCRIPTION_CHARS)] = ""
    rules: Annotated[list[_Item], _AtMost] | None = None
    folders: Annotated[list[Annotated[_Item, AfterValidator(_check_folder)]], _AtMost] = field(
        default_factory=list
    )
    exclude_folders: Annotated[list[Annotated[_Item, AfterValidator(_check_exclusion)]], _AtMost] = field(
        default_factory=list
    )
    exclude_files: Annotated[list[Annotated[_Item, AfterValidator(_check_file)]], _AtMost] = field(
        default_factory=list
    )
    previous_versions: Annotated[list[_Version], _AtMost] | None = None


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
    try:
        keys: _Keys = adapter_of(_Keys).validate_python(values)
    except ValidationError as error:
        wrong = (locate_error(each) for each in error.errors(include_url=False))
        return ProjectFile(
            name=name, errors=tuple(InvalidKey(key=key, message=f"{wanted}.") for key, wanted in wrong)
        )
    return ProjectFile(
        name=name,
        title=keys.project_title or None,
        description=keys.description or None,
        rules=None if keys.rules is None else tuple(filter(None, keys.rules)),
        folders=tuple(filter(None, keys.folders)),
        excluded_folders=tuple(keys.exclude_folders),
        excluded_files=frozenset(normalize("NFC", each) for each in keys.exclude_files if each),
        previous_versions=None
        if keys.previous_versions is None
        else {version.tag: version.title for version in keys.previous_versions},
    )


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
