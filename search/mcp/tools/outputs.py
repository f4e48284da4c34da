"""Results of the tools: dataclasses from which the published output schemas are built.

Those of `search` and `fetch` have the fields that ChatGPT expects of tools with these names, and are the same
JSON as text (https://platform.openai.com/docs/mcp).
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kebab.wire import adapter_of


def without_refs(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a JSON Schema of an object without references, which not all clients resolve."""
    inlined: dict[str, Any] = _inline_refs(schema, schema.get("$defs", {}))
    return {key: value for key, value in inlined.items() if key not in ("description", "$defs")}


def _inline_refs(part: Any, definitions: Mapping[str, Any]) -> Any:
    if isinstance(part, list):
        return [_inline_refs(item, definitions) for item in part]
    if not isinstance(part, dict):
        return part
    if "$ref" in part:
        inner = definitions[part["$ref"].rpartition("/")[2]]
        siblings = {key: value for key, value in part.items() if key != "$ref"}
        return _inline_refs(inner, definitions) | siblings
    # A title that is a string repeats the name; a property may be called title, too.
    return {
        key: _inline_refs(value, definitions)
        for key, value in part.items()
        if key != "title" or not isinstance(value, str)
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutput:
    """A result as text and as structured content; the text of an error says how to correct the call."""

    text: str
    #: As the tool's output schema says; empty for an error.
    data: dict[str, Any] = field(default_factory=dict)
    is_error: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The place of a text, and how far it is trusted."""

    #: As in guides/install.md#L7-L12; of several passages the first one's.
    citation: str
    #: Those of several passages, which blank lines separate.
    citations: tuple[str, ...] | None = None
    workspace: str
    source: str
    version: str | None = None
    trust_level: str
    #: Of a hit.
    score: float | None = None
    related: bool | None = None
    #: Its language where that is another than the query's.
    lang: str | None = None
    #: Whether its page is outdated.
    outdated: bool | None = None
    #: How to go on, if there is more.
    more: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundText:
    """A hit; `fetch` takes its id."""

    id: str
    title: str
    url: str
    text: str | None = None
    metadata: Origin


@dataclass(frozen=True, slots=True, kw_only=True)
class NotedOutput:
    """A result with notes, if something is missing or was ignored."""

    notes: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOutput(NotedOutput):
    """Hits, best first."""

    results: tuple[FoundText, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchOutput(NotedOutput):
    """The text at an id."""

    id: str
    title: str
    text: str
    url: str
    metadata: Origin


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryOutput:
    """A library; `query-docs` takes its id."""

    id: str
    title: str
    description: str
    snippets: int
    trust_score: float
    versions: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LibrariesOutput(NotedOutput):
    """Libraries, best first."""

    libraries: tuple[LibraryOutput, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SnippetOutput:
    """A snippet of a library."""

    title: str
    text: str
    citation: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DocsOutput(NotedOutput):
    """A library's rules and its best snippets."""

    rules: tuple[str, ...]
    snippets: tuple[SnippetOutput, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeOutput(NotedOutput):
    """Code as text, and the places that it is from."""

    text: str
    citations: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedOutput:
    """The passage behind a marker [#n]."""

    n: int
    title: str
    url: str
    chunk: str
    citation: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerOutput(NotedOutput):
    """An answer, with markers [#n]."""

    answer_id: str
    conversation_id: str
    state: str
    reason: str | None = None
    text: str
    citations: tuple[CitedOutput, ...]


def add_note(output: ToolOutput, note: str) -> ToolOutput:
    """Return a result with one more note, in its text, too."""
    data = {**output.data, "notes": [*output.data.get("notes", ()), note]}
    is_json = output.text.startswith("{")
    return ToolOutput(text=to_json(data) if is_json else f"{output.text}\n\n{note}", data=data)


def to_json(value: object) -> str:
    """Return a value as JSON on one line."""
    return json.dumps(value, ensure_ascii=False)


def output_schema(type_: type[Any]) -> dict[str, Any]:
    """Return the JSON Schema of a result, without references."""
    return without_refs(adapter_of(type_).json_schema(mode="serialization"))  # type: ignore[arg-type]  # mypy thinks that classes have no hash


def dump(output: Any) -> dict[str, Any]:
    """Return a result as JSON values, without what it lacks."""
    kind: Any = type(output)
    dumped: dict[str, Any] = adapter_of(kind).dump_python(output, mode="json", exclude_none=True)
    return dumped
