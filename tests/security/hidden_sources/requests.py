"""The requests of ingest's endpoints, and checks of their answers."""

import json
import uuid
from dataclasses import dataclass
from typing import Any

from django.utils import timezone

from ingest.models import Job, Unreadable
from search.models import Source
from tests.support.api import address

#: Every word of the restricted source begins with it, and no other word does.
CANARY = "quillmere"

# Tail of the address, method and body; ids are named after their objects.
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
    ("/sources/{source}/test", "post", None),
    ("/sources/{source}/versions", "get", None),
    ("/sources/{source}/versions", "post", {"tag": "v1"}),
    ("/sources/{source}/versions?tag=v1", "delete", None),
    ("/jobs/{job}", "get", None),
    ("/jobs/{job}/items", "get", None),
    ("/jobs/{job}/events", "get", None),
    ("/jobs/{job}/cancel", "post", None),
    ("/jobs/{job}/retry", "post", None),
    ("/jobs/{job}/dismiss", "post", None),
    ("/quarantine/{entry}", "delete", None),
    ("/quarantine/{entry}/retry", "post", None),
]
LISTS = ["/documents", "/sources", "/jobs", "/quarantine"]


@dataclass(frozen=True, kw_only=True)
class RestrictedSource:
    """The objects of a restricted source."""

    source: Source
    doc_id: str
    job: Job
    entry: Unreadable

    @property
    def ids(self) -> dict[str, str]:
        """Return the ids by their names in `BY_ID`."""
        return {
            "doc": self.doc_id,
            "source": str(self.source.pk),
            "job": str(self.job.pk),
            "entry": str(self.entry.pk),
        }


def missing_ids() -> dict[str, str]:
    """Return ids of objects that don't exist."""
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


def contents(answer: Any) -> tuple[int, str, dict[str, str]]:
    """Return status, body and headers of an answer."""
    body = b"".join(answer.streaming_content) if answer.streaming else answer.content
    headers = {name: value for name, value in answer.headers.items() if name != "RateLimit-Remaining"}
    return answer.status_code, body.decode(), headers


def assert_silent(answer: Any) -> None:
    """Assert that the answer has nothing of the restricted source."""
    assert CANARY not in json.dumps(contents(answer))


def finished_fields(state: str, **fields: Any) -> dict[str, Any]:
    """Return the fields of a finished job."""
    return {"state": state, "finished_at": timezone.now(), **fields}
