"""What there is to name, known or learnt from answers, so that made-up requests also meet real things."""

import re
from collections import deque
from collections.abc import Collection, Iterable, Mapping
from random import Random
from typing import Any

_KEPT = 200
# What the answers of an operation's address name: the ids in them stand for such a thing.
_OF_LIST = {
    "documents": "doc_id",
    "chunks": "chunk_id",
    "sources": "source_id",
    "jobs": "job_id",
    "quarantine": "entry_id",
    "groups": "group_id",
    "invitations": "invitation_id",
    "tokens": "token_id",
    "members": "user_id",
    "topics": "topic_id",
    "runs": "run_id",
    "answers": "answer_id",
    "ask": "answer_id",
}
_LISTS = "|".join(_OF_LIST)
# Fields that, when they name nothing, have the whole request refused: of what they are taken, or left out.
_OF_FIELD = {
    "cursor": "",
    "conversation_id": "",
    "min_seq": "",
    "settings": "",
    "source": "",
    "document": "",
    "libraryId": "library_id",
    "user": "user_id",
    "token": "token_id",
    "tag": "tag",
    "slug": "new_name",
    "key": "new_name",
    "email": "email",
    "set": "set",
    "measures": "",
    "repeat": "run_id",
    "baseline": "run_id",
}
# What fields are called so of one operation, where its request is about nothing without them.
_OF_OPERATION = {
    "POST /api/v1/workspaces/{ws}/eval/gate": {"settings": "settings"},
    "POST /api/v1/workspaces/{ws}/feedback": {"source": "source_key", "citation": "path", "version": "none"},
}
# Without one of these the operation asks for nothing, though its description can't say so.
_NEEDED = {
    "GET /api/v1/workspaces/{ws}/search": ("q", "cursor"),
    "POST /api/v1/workspaces/{ws}/search": ("q", "cursor"),
    "GET /api/v1/workspaces/{ws}/access": ("user", "token"),
    "POST /api/v1/workspaces/{ws}/sources": ("key",),
}
# The share of requests that keep the made-up value.
_KEEPING = 0.1


class Pool:
    """Values by the names of the arguments that take them, the latest ones; never those that are spared."""

    def __init__(
        self,
        workspace: str,
        seed: int,
        *,
        known: Mapping[str, Iterable[Any]] | None = None,
        spared: Collection[str] = (),
    ) -> None:
        self._spared = spared
        self._values: dict[str, deque[Any]] = {}
        self._random = Random(seed)
        for name, values in {"ws": [workspace], "q": ["boat"], **(known or {})}.items():
            self._keep(name, values)

    def arguments(self, made_up: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of an address, most of them of what there is."""
        return {name: self._value(name, value) for name, value in made_up.items()}

    def fields(self, operation: str, made_up: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters or the body of a request, most of them of what there is."""
        taken = {**_OF_FIELD, **_OF_OPERATION.get(operation, {})}
        found = {name: self._value(taken.get(name, ""), value) for name, value in made_up.items()}
        for name in taken.keys() & found.keys():
            if not taken[name] and not self._keeps():
                del found[name]
        needed = _NEEDED.get(operation, ())
        if needed and not found.keys() & set(needed) and not self._keeps():
            found[needed[0]] = self._value(_OF_FIELD.get(needed[0], needed[0]), None)
        return found

    def note(self, path: str, document: Any) -> None:
        """Remember what an answer names."""
        found = re.search(rf"/({_LISTS})\b(?!.*/(?:{_LISTS})\b)", path)
        if found is not None and isinstance(document, dict):
            argument, rows = _OF_LIST[found[1]], document.get("results", [document])
            self._keep(argument, _ids(rows if isinstance(rows, list) else [], argument))
            self._keep("doc_id", _ids([document.get("document")], "doc_id"))
            self._keep("job_id", _ids([document.get("job")], "job_id"))

    def _keep(self, argument: str, values: Iterable[Any]) -> None:
        kept = self._values.setdefault(argument, deque(maxlen=_KEPT))
        kept.extend(_plain(value) for value in values if str(value) not in self._spared)

    def _value(self, name: str, made_up: Any) -> Any:
        known = self._values.get(name)
        return self._random.choice(known) if known and not self._keeps() else made_up

    def _keeps(self) -> bool:
        return self._random.random() < _KEEPING


def _plain(value: Any) -> Any:
    return value if isinstance(value, dict) else str(value)


def _ids(rows: list[Any], argument: str) -> list[Any]:
    named = [row.get("id", row.get(argument)) for row in rows if isinstance(row, dict)]
    return [each for each in named if each is not None]
