"""Removal of secrets from the words of servers and programs."""

import pytest

from ingest.connectors.redaction import redact
from kebab.http_client.connections import mask_address
from search.models import Source


def test_secrets_and_users_in_addresses_are_replaced():
    said = "LOGIN hush-hush refused at https://ada:pw@example.org/hush-hush-2, hush"
    expected = "LOGIN *** refused at https://***@example.org/***, hush"
    assert redact(said, ["hush-hush", "hush-hush-2", "hush"]) == expected


@pytest.mark.parametrize(
    ("url", "masked", "with_path"),
    [
        ("https://example.org", "https://example.org", "https://example.org"),
        ("https://example.org/", "https://example.org/", "https://example.org/"),
        ("https://example.org/a/b?c=d", "https://example.org/…", "https://example.org/a/b?…"),
        ("https://ada:pw@example.org/a#b", "https://example.org/…", "https://example.org/a?…"),
        ("https://example.org?a@b", "https://example.org/…", "https://example.org?…"),
        ("imaps://example.org:993", "imaps://example.org:993", "imaps://example.org:993"),
        ("/a?b", "…", "/a?…"),
        ("HTTPS://example.org/a", "…", "HTTPS://example.org/a"),
    ],
)
def test_address_is_masked(url, masked, with_path):
    assert mask_address(url) == masked
    assert mask_address(url, keeps_path=True) == with_path


@pytest.mark.parametrize(
    ("kind", "config", "masked", "hidden"),
    [
        (
            "feed",
            {"url": "https://example.org/hush?t=1"},
            {"url": "https://example.org/…"},
            ["hush?t=1", "hush", "t", "1"],
        ),
        ("later", {"url": "https://example.org/hush"}, {"url": "https://example.org/…"}, ["hush"]),
        (
            "program",
            {"program": "a", "options": ["b=c=d", "e"]},
            {"program": "a", "options": ["b=…", "e"]},
            ["c=d", "c", "d"],
        ),
        (
            "web",
            {"sitemap": "https://example.org/s?t=1", "include": ["a=b"], "max_pages": 3},
            {"sitemap": "https://example.org/s?…", "include": ["a=b"], "max_pages": 3},
            ["t=1", "t", "1"],
        ),
        ("git", {"url": "git@example.org:a/b.git"}, {"url": "git@example.org:a/b.git"}, []),
    ],
)
def test_config_is_masked_by_kind(kind, config, masked, hidden):
    source = Source(kind=kind, config=config)
    assert source.masked_config == masked
    assert source.hidden_parts == hidden
