"""Ids of what there is, gathered from the answers, so that made-up requests also meet real things."""

import re
from collections import deque
from collections.abc import Mapping
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
}
# The share of requests that keep the made-up value.
_KEEPING = 0.1


class Pool:
    """Ids by the names of the arguments that take them, the latest ones."""

    def __init__(self, workspace: str, seed: int) -> None:
        self._workspace = workspace
        self._ids: dict[str, deque[str]] = {name: deque(maxlen=_KEPT) for name in _OF_LIST.values()}
        self._random = Random(seed)

    def arguments(self, made_up: Mapping[str, Any]) -> dict[str, Any]:
        """Give the arguments of an address, most of them of what there is."""
        return {name: self._argument(name, value) for name, value in made_up.items()}

    def note(self, path: str, document: Any) -> None:
        """Remember what an answer names."""
        found = re.search(r"/(" + "|".join(_OF_LIST) + r")\b(?!.*/(?:" + "|".join(_OF_LIST) + r")\b)", path)
        if found is not None and isinstance(document, dict):
            rows = document.get("results", [document])
            self._keep(_OF_LIST[found[1]], rows if isinstance(rows, list) else [])
            for name in ("document", "job"):
                self._keep(f"{name.replace('document', 'doc')}_id", [document.get(name)])

    def _keep(self, argument: str, rows: list[Any]) -> None:
        for row in rows:
            named = row.get("id", row.get("chunk_id")) if isinstance(row, dict) else None
            if named is not None:
                self._ids[argument].append(str(named))

    def _argument(self, name: str, made_up: Any) -> Any:
        if self._random.random() < _KEEPING:
            return made_up
        if name == "ws":
            return self._workspace
        known = self._ids.get(name)
        return self._random.choice(known) if known else made_up
