"""Pool of existing ids and names, known or learnt from answers, so that generated requests use them."""

import re
from collections import deque
from collections.abc import Collection, Iterable, Mapping
from random import Random
from typing import Any

_MOST_VALUES = 200
# Arguments whose values are the ids in the answers of a list's address.
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
    "rules": "rule_id",
    "webhooks": "webhook_id",
    "saved-searches": "search_id",
    "file_batches": "batch_id",
}
_LISTS = "|".join(_OF_LIST)
# Fields whose values must exist, or the whole request is rejected: arguments to take them from.
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
    "knowledge_id": "ws",
    "file_id": "file_id",
    "file_ids": "file_ids",
}
# The same for fields of a single operation.
_OF_OPERATION = {
    "POST /api/v1/openai/vector_stores/{store}/file_batches": {"files": "", "attributes": ""},
    "POST /api/v1/workspaces/{ws}/eval/gate": {"settings": "settings"},
    "POST /api/v1/workspaces/{ws}/feedback": {"source": "source_key", "citation": "path", "version": "none"},
}
# Fields without which the operation does nothing, though its description can't say so.
_NEEDED = {
    "GET /api/v1/workspaces/{ws}/search": ("q", "cursor"),
    "POST /api/v1/workspaces/{ws}/search": ("q", "cursor"),
    "POST /api/v1/search": ("q",),
    "GET /api/v1/workspaces/{ws}/access": ("user", "token"),
    "POST /api/v1/workspaces/{ws}/sources": ("key",),
    "POST /api/v1/openai/vector_stores/{store}/file_batches": ("file_ids",),
}
#: Ids of rules that requests write.
RULE_IDS = tuple(f"{number:032x}" for number in range(30))
# Bodies of operations whose description allows more than they do: rules have other fields by kind.
_BODIES: Mapping[str, tuple[Mapping[str, Any], ...]] = {
    "POST /api/v1/workspaces/{ws}/rules": (
        {"kind": "synonyms", "words": ["boat", "ship"]},
        {"kind": "answer", "queries": ["boat"], "title": "Boats"},
    ),
    "PUT /api/v1/workspaces/{ws}/rules": (
        {"rules": [{"id": id_, "kind": "stop_words", "words": ["the"]} for id_ in RULE_IDS]},
    ),
    "POST /api/v1/workspaces/{ws}/webhooks": (
        {"url": "https://hooks.example.org/kebab", "events": ["document.indexed"]},
    ),
}
# The share of requests that keep the generated value.
_KEEP_SHARE = 0.1


class Pool:
    """The latest values by argument; never the protected ones."""

    def __init__(
        self,
        workspace: str,
        seed: int,
        *,
        known: Mapping[str, Iterable[Any]] | None = None,
        protected: Collection[str] = (),
    ) -> None:
        self._protected = protected
        self._values: dict[str, deque[Any]] = {}
        self._random = Random(seed)
        for name, values in {"ws": [workspace], "q": ["boat"], **(known or {})}.items():
            self._add(name, values)

    def arguments(self, generated: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of an address, most of them existing values."""
        return {name: self._value(name, value) for name, value in generated.items()}

    def find(self, name: str, default: str) -> str:
        """Return an existing value of an argument; `default` if none is known."""
        return str(next(iter(self._values.get(name, ())), default))

    def fields(self, operation: str, generated: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters or the body of a request, most of them existing values."""
        if operation in _BODIES and not self._keeps_generated():
            return dict(self._random.choice(_BODIES[operation]))
        fields_ = {**_OF_FIELD, **_OF_OPERATION.get(operation, {})}
        found = {name: self._value(fields_.get(name, ""), value) for name, value in generated.items()}
        for name in fields_.keys() & found.keys():
            if not fields_[name] and not self._keeps_generated():
                del found[name]
        needed = _NEEDED.get(operation, ())
        if needed and not found.keys() & set(needed) and not self._keeps_generated():
            found[needed[0]] = self._value(_OF_FIELD.get(needed[0], needed[0]), None)
        return found

    def learn(self, path: str, document: Any) -> None:
        """Learn the ids and names in an answer."""
        found = re.search(rf"/({_LISTS})\b(?!.*/(?:{_LISTS})\b)", path)
        if found is not None and isinstance(document, dict):
            argument, rows = _OF_LIST[found[1]], document.get("results", document.get("rules", [document]))
            self._add(argument, _ids(rows if isinstance(rows, list) else [], argument))
            self._add("doc_id", _ids([document.get("document")], "doc_id"))
            self._add("job_id", _ids([document.get("job")], "job_id"))

    def _add(self, argument: str, values: Iterable[Any]) -> None:
        values_ = self._values.setdefault(argument, deque(maxlen=_MOST_VALUES))
        values_.extend(_plain(value) for value in values if str(value) not in self._protected)

    def _value(self, name: str, generated: Any) -> Any:
        known = self._values.get(name)
        return self._random.choice(known) if known and not self._keeps_generated() else generated

    def _keeps_generated(self) -> bool:
        return self._random.random() < _KEEP_SHARE


def _plain(value: Any) -> Any:
    return value if isinstance(value, dict | list) else str(value)


def _ids(rows: list[Any], argument: str) -> list[Any]:
    ids = [row.get("id", row.get(argument)) for row in rows if isinstance(row, dict)]
    return [each for each in ids if each is not None]
