"""One way to call an address, with arguments that refer to hidden objects.

Names in braces stand for ids of `Target`; arguments of the address are filled in by their names. Bytes in a
body are a file.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote_plus, unquote

from django.core.files.uploadedfile import SimpleUploadedFile

from tests.security.leaks.canaries import CLOSED, THEIRS, Target
from tests.security.leaks.routes import Route

BOTH = frozenset({THEIRS, CLOSED})
ONLY_THEIRS = frozenset({THEIRS})
NONE: frozenset[str] = frozenset()

# The target's id for each argument of an address.
_ARGUMENTS = {
    "doc_id": "doc",
    "chunk_id": "chunk",
    "source_id": "source",
    "job_id": "job",
    "entry_id": "entry",
    "space_id": "space",
    "user_id": "user",
    "token_id": "token",
    "group_id": "group",
    "invitation_id": "invitation",
    "topic_id": "topic",
    "run_id": "run",
    "answer_id": "answer",
    "conversation_id": "conversation",
    "rule_id": "rule",
    "webhook_id": "webhook",
    "search_id": "savedsearch",
}
WORKSPACE_ARGUMENTS = frozenset({"ws", "slug", "store"})
_NAME = re.compile(r"\{[a-z]+\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One way to call a route."""

    route: str
    method: str = "get"
    query: str = ""
    body: Mapping[str, Any] | None = None
    #: Arguments of the address that take other ids than their names suggest.
    arguments: Mapping[str, str] = field(default_factory=dict)
    #: Stems whose canaries occur in the answer to authorised callers.
    shown: frozenset[str] = BOTH
    #: Stems for which an authorised caller exists.
    controlled: frozenset[str] = BOTH
    #: Stems for which the answer must equal that for missing objects exactly.
    compared: frozenset[str] = BOTH
    #: Whether it would change or delete the callers' own workspace; then it isn't called there.
    is_fatal: bool = False
    #: Whether operators may see all workspaces in the answer, and nobody else anything.
    is_for_operators: bool = False
    #: Whether htmx asks, for a part of the page.
    is_partial: bool = False

    @property
    def label(self) -> str:
        """Return the name of the call in messages."""
        query = f"?{self.query}" if self.query else ""
        body = "" if self.body is None else f" {dict(self.body)}"
        query += " by htmx" if self.is_partial else ""
        return f"{self.method.upper()} {self.route}{query}{body}"

    @property
    def subject(self) -> str:
        """Return the subject of the call, the first words of its route's name: `api-eval`, `people`."""
        words = self.route.split("-")
        return "-".join(words[:2]) if words[0] == "api" else words[0]

    def address(self, route: Route, workspace: str, target: Target) -> str:
        """Return path and query with the target's ids."""
        arguments = {
            name: workspace if name in WORKSPACE_ARGUMENTS else self._id(name, target)
            for name in route.arguments
        }
        query = f"?{self.query.format_map(target.ids)}" if self.query else ""
        return route.path(arguments) + query

    def body_for(self, target: Target, workspace: str) -> Any:
        """Return the body with the target's ids, and the workspace for `ws`; None without one."""
        return None if self.body is None else _fill(self.body, {**target.ids, "ws": workspace})

    def request_texts(self, route: Route, target: Target) -> dict[str, str]:
        """Return the names and texts of the target that occur in the request itself."""
        texts = [f"{{{self._id_name(name)}}}" for name in route.arguments if name not in WORKSPACE_ARGUMENTS]
        texts += [
            text for pair in self.query.split("&") for text in (pair.partition("=")[2], *_NAME.findall(pair))
        ]
        texts += [text for words in _texts(self.body) for text in (words, *_NAME.findall(words))]
        words = [word.strip('"') for text in texts for word in unquote(text).split()]
        words += [word.partition(":")[2] for word in words]  # values of operators, as `tag:{stem}tag`
        # A key that nothing has is searched for as text, and `explain` lists its parts.
        words += ["{stem}" for word in words if word.startswith("source:")]
        texts += [*words, *(quote_plus(word, safe="{}") for word in words)]
        return {
            text: text.format_map(target.ids)
            for text in texts
            if _NAME.search(text) and _is_known(text, target)
        }

    def _id(self, argument: str, target: Target) -> str:
        name = self._id_name(argument)
        return target.ids.get(name, name)

    def _id_name(self, argument: str) -> str:
        return self.arguments.get(argument, _ARGUMENTS.get(argument, argument))


def _is_known(text: str, target: Target) -> bool:
    return all(name[1:-1] in target.ids for name in _NAME.findall(text))


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts within a body that contain names."""
    if isinstance(value, str) and "{" in value:
        yield value
    elif isinstance(value, Mapping | list):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(each)


def _fill(value: Any, ids: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return value.format_map(ids)
    if isinstance(value, bytes):
        return SimpleUploadedFile("fresh.md", value)
    if isinstance(value, Mapping):
        return {name: _fill(each, ids) for name, each in value.items()}
    return [_fill(each, ids) for each in value] if isinstance(value, list) else value
