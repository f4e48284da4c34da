"""The requests of ingest's doors, and what must stand in no answer."""

import json
import uuid
from dataclasses import dataclass
from typing import Any

from django.utils import timezone

from ingest.models import Job, Unreadable
from search.models import Source
from tests.support.api import address

#: It begins every word of the restricted source, and stands nowhere else.
CANARY = "quillmere"

# Tail of the address, method and body, for ids that begin with what they are of.
BY_ID = [
    ("/documents/{doc}", "get", None),
    ("/documents/{doc}", "patch", {"title": "x"}),
    ("/documents/{doc}", "patch", {"nonsense": 1}),
    ("/documents/{doc}", "delete", None),
    ("/sources/{source}", "get", None),
    ("/sources/{source}", "patch", {"title": "x"}),
    ("/sources/{source}", "patch", {"readers": None}),
    ("/sources/{source}", "patch", {"nonsense": 1}),
    ("/sources/{source}", "delete", None),
    ("/sources/{source}/sync", "post", None),
    ("/sources/{source}/versions", "get", None),
    ("/sources/{source}/versions", "post", {"tag": "v1"}),
    ("/sources/{source}/versions?tag=v1", "delete", None),
    ("/jobs/{job}", "get", None),
    ("/jobs/{job}/items", "get", None),
    ("/jobs/{job}/events", "get", None),
    ("/jobs/{job}/cancel", "post", None),
    ("/jobs/{job}/retry", "post", None),
    ("/quarantine/{entry}", "delete", None),
    ("/quarantine/{entry}/retry", "post", None),
]
LISTS = ["/documents", "/sources", "/jobs", "/quarantine"]


@dataclass(frozen=True, kw_only=True)
class Restricted:
    """What there is of a restricted source."""

    source: Source
    doc_id: str
    job: Job
    entry: Unreadable

    @property
    def ids(self) -> dict[str, str]:
        """Return the ids by the names that `BY_ID` gives them."""
        return {
            "doc": self.doc_id,
            "source": str(self.source.pk),
            "job": str(self.job.pk),
            "entry": str(self.entry.pk),
        }


def missing_ids() -> dict[str, str]:
    """Return ids of what there is nowhere."""
    return {
        "doc": uuid.uuid4().hex,
        "source": str(uuid.uuid4()),
        "job": str(uuid.uuid4()),
        "entry": str(2**40),
    }


def send(
    client: Any, workspace: Any, tail: str, method: str = "get", body: Any = None, **options: Any
) -> Any:
    """Send a request below a workspace."""
    if method != "get":
        options["format"] = "json"
    return getattr(client, method)(address(workspace, tail), body, **options)


def told(answer: Any) -> tuple[int, str, dict[str, str]]:
    """Return all that an answer tells: status, body and headers."""
    body = b"".join(answer.streaming_content) if answer.streaming else answer.content
    return answer.status_code, body.decode(), dict(answer.headers)


def assert_silent(answer: Any) -> None:
    """Nothing of the restricted source stands in the answer."""
    assert CANARY not in json.dumps(told(answer))


def ended(state: str, **fields: Any) -> dict[str, Any]:
    """Return the fields of a job that has ended."""
    return {"state": state, "finished_at": timezone.now(), **fields}
