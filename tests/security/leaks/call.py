"""One way to call an address, with arguments that aim at what is hidden.

Names in braces stand for ids of `Target`; arguments of the address are filled in by their names. Bytes in a
body are a file.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.core.files.uploadedfile import SimpleUploadedFile

from tests.security.leaks.canaries import CLOSED, THEIRS, Target
from tests.security.leaks.routes import Route

BOTH = frozenset({THEIRS, CLOSED})
ONLY_THEIRS = frozenset({THEIRS})
NONE: frozenset[str] = frozenset()

# Which of a target's ids an argument of an address is.
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
}
WORKSPACE_ARGUMENTS = frozenset({"ws", "slug"})
_NAME = re.compile(r"\{[a-z]+\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One way to call a route."""

    route: str
    method: str = "get"
    query: str = ""
    body: Mapping[str, Any] | None = None
    #: Arguments of the address that are other ids than their names say.
    arguments: Mapping[str, str] = field(default_factory=dict)
    #: Whose canaries stand in the answer to those who may see them.
    shown: frozenset[str] = BOTH
    #: Where there is somebody who may do it.
    controlled: frozenset[str] = BOTH
    #: Where what is hidden has to be answered exactly like what is not there.
    compared: frozenset[str] = BOTH
    #: Whether the callers' own workspace would be what it changes or deletes; then it isn't called there.
    is_fatal: bool = False

    @property
    def label(self) -> str:
        """What a failure names."""
        query = f"?{self.query}" if self.query else ""
        body = "" if self.body is None else f" {dict(self.body)}"
        return f"{self.method.upper()} {self.route}{query}{body}"

    @property
    def subject(self) -> str:
        """What the call is about, by the first words of its route's name: `api-eval`, `people`."""
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

    def filled_body(self, target: Target) -> Any:
        """Return the body with the target's ids; None without one."""
        return None if self.body is None else _filled(self.body, target.ids)

    def given(self, route: Route, target: Target) -> dict[str, str]:
        """Return what the request says of the target, by name or by what is filled in."""
        told = [f"{{{self._named(name)}}}" for name in route.arguments if name not in WORKSPACE_ARGUMENTS]
        told += [
            text for pair in self.query.split("&") for text in (pair.partition("=")[2], *_NAME.findall(pair))
        ]
        told += [text for words in _texts(self.body) for text in (words, *_NAME.findall(words))]
        return {
            text: text.format_map(target.ids)
            for text in told
            if _NAME.search(text) and _is_known(text, target)
        }

    def _id(self, argument: str, target: Target) -> str:
        name = self._named(argument)
        return target.ids.get(name, name)

    def _named(self, argument: str) -> str:
        return self.arguments.get(argument, _ARGUMENTS.get(argument, argument))


def _is_known(text: str, target: Target) -> bool:
    return all(name[1:-1] in target.ids for name in _NAME.findall(text))


def _texts(value: Any) -> Iterator[str]:
    """The texts within a body that name something."""
    if isinstance(value, str) and "{" in value:
        yield value
    elif isinstance(value, Mapping | list):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(each)


def _filled(value: Any, ids: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return value.format_map(ids)
    if isinstance(value, bytes):
        return SimpleUploadedFile("fresh.md", value)
    if isinstance(value, Mapping):
        return {name: _filled(each, ids) for name, each in value.items()}
    return [_filled(each, ids) for each in value] if isinstance(value, list) else value
