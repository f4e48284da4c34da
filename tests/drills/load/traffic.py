"""Mixed traffic: mostly searches; suggestions, documents, lists, uploads, replacements, deletions.

Uploads cycle through a ring of paths, and deleted documents are uploaded again, so that the corpus keeps its
size.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote

from tests.drills.load.http_client import Request

_RING = 200
# Percentages of requests.
_SHARES = {
    "hybrid": 60,
    "lexical": 10,
    "suggest": 8,
    "chunk": 6,
    "documents": 4,
    "pack": 2,
    "upload": 8,
    "delete": 2,
}
# The first workspace gets half of all requests, the next half of the rest.
_FALL = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedWorkspace:
    """A workspace under load."""

    slug: str
    token: str
    queries: Sequence[str]
    chunk_ids: Sequence[str]
    #: Texts to upload.
    texts: Sequence[str]
    #: Ids of the documents on the ring, by number.
    ring: Sequence[str]


class Traffic:
    """Mixed requests, the same for the same seed."""

    def __init__(self, places: Sequence[LoadedWorkspace], seed: int) -> None:
        self._places = places
        self._weights = [_FALL**number for number in range(len(places))]
        self._rng = random.Random(f"traffic {seed}")
        self._count = 0

    def draw(self) -> Request:
        """Return the next request."""
        self._count += 1
        (place,) = self._rng.choices(self._places, self._weights)
        (kind,) = self._rng.choices(list(_SHARES), list(_SHARES.values()))
        return self._of(kind, place)

    def _of(self, kind: str, place: LoadedWorkspace) -> Request:
        query = self._rng.choice(place.queries)
        number = self._rng.randrange(_RING)
        match kind:
            case "hybrid" | "lexical":
                return _request(place, kind, "POST", "/search", {"q": query, "mode": kind})
            case "suggest":
                return _request(place, kind, "GET", f"/suggest?q={quote(query[:5])}")
            case "chunk":
                return _request(place, kind, "GET", f"/chunks/{self._rng.choice(place.chunk_ids)}")
            case "documents":
                return _request(place, kind, "GET", "/documents?limit=20")
            case "pack":
                body = {"information_request": query, "budget": 2_000}
                return _request(place, kind, "POST", "/context-pack", body)
            case "upload":
                text = f"{self._rng.choice(place.texts)}\n\nWritten as number {self._count}.\n"
                return _request(place, kind, "POST", "/documents", {"path": ring_path(number), "text": text})
            case _:
                return _request(place, kind, "DELETE", f"/documents/{place.ring[number]}")


def ring_path(number: int) -> str:
    """Return the path of a document on the ring."""
    return f"ring/{number:03}.md"


def ring_paths() -> list[str]:
    """Return all paths on the ring."""
    return [ring_path(number) for number in range(_RING)]


def _request(
    place: LoadedWorkspace, kind: str, method: str, path: str, body: dict[str, object] | None = None
) -> Request:
    return Request(
        kind=kind,
        method=method,
        path=f"/api/v1/workspaces/{place.slug}{path}",
        token=place.token,
        body=body,
    )
