"""Refusals of servers that limit requests, by their headers."""

from types import SimpleNamespace

import pytest

from ingest.connectors.records import requests
from ingest.connectors.records.requests import Answer

SPENT = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1600"}


@pytest.fixture(autouse=True)
def _clock(monkeypatch):
    monkeypatch.setattr(requests, "time", SimpleNamespace(time=lambda: 1_000.0))


@pytest.mark.parametrize(
    ("status", "headers", "body", "is_limited", "wait_s"),
    [
        (429, {}, b"", True, 0.0),
        (429, {"retry-after": "30"}, b"", True, 30.0),
        (429, {"retry-after": "Mon, 06 May 2024 10:00:00 GMT"}, b"", True, 0.0),
        (403, SPENT, b"", True, 600.0),
        (403, SPENT | {"x-ratelimit-reset": "900"}, b"", True, 0.0),
        (403, SPENT | {"retry-after": "60"}, b"", True, 60.0),
        (403, {}, b'{"message": "You have exceeded a secondary rate limit."}', True, 0.0),
        (403, SPENT | {"x-ratelimit-remaining": "12"}, b"", False, 0.0),
        (403, {}, b'{"message": "Resource not accessible"}', False, 0.0),
        (200, SPENT, b"", False, 0.0),
        (503, {"retry-after": "5"}, b"", False, 5.0),
    ],
)
def test_rate_limit_is_recognised_by_status_headers_or_text(status, headers, body, is_limited, wait_s):
    answer = Answer(status=status, headers=headers, body=body)
    assert (answer.is_rate_limited, answer.wait_s) == (is_limited, wait_s)
