"""Slack's exports, true to Slack's help page "How to read Slack data exports" and its message events."""

import json
from datetime import UTC, datetime

import pytest

from ingest.exports.found import Exports
from ingest.parsers.registry import parse

USERS = [
    {"id": "U1", "name": "ada", "profile": {"real_name": "Ada Lovelace", "display_name": "ada"}},
    {"id": "U2", "name": "bob", "real_name": "Bob Byron", "profile": {}},
]
FILES = {
    "users.json": USERS,
    "channels.json": [{"id": "C1", "name": "general", "members": ["U1", "U2"]}],
    "dms.json": [{"id": "D1", "members": ["U1", "U2"]}],
    "integration_logs.json": [],
}


def stamp(day, hour, minute=0):
    return f"{datetime(2024, 1, day, hour, minute, tzinfo=UTC).timestamp():.6f}"


def message(user, day, hour, text, **more):
    return {"type": "message", "user": user, "ts": stamp(day, hour), "text": text, **more}


FIRST = [
    {**message("U2", 5, 8, "<@U2> has joined the channel"), "subtype": "channel_join"},
    message(
        "U1",
        5,
        9,
        "<@U2> see <https://example.org/a?b=1&amp;c=2|the budget> in <#C1|general> &amp; <!here>",
        thread_ts=stamp(5, 9),
        reply_count=2,
        replies=[{"user": "U2", "ts": stamp(5, 10)}, {"user": "U2", "ts": stamp(6, 7)}],
    ),
    message("U2", 5, 10, "Seen.", thread_ts=stamp(5, 9), parent_user_id="U1"),
    {
        "type": "message",
        "subtype": "bot_message",
        "username": "deploys",
        "ts": stamp(5, 11),
        "text": "",
        "attachments": [{"title": "Release 7", "text": "It is out.", "fallback": "x"}],
        "files": [{"name": "notes.pdf", "url_private": "https://files.slack.com/x?t=xoxe-secret"}],
    },
]
SECOND = [message("U2", 6, 7, "One more:```\nx = 1\n```", thread_ts=stamp(5, 9), parent_user_id="U1")]
DAYS = {"general/2024-01-05.json": FIRST, "general/2024-01-06.json": SECOND, "D1/2024-01-05.json": FIRST[1:2]}


@pytest.fixture
def exports():
    found = Exports.find([f"export/{path}" for path in (*FILES, *DAYS)])
    for path in found.index_files:
        found.read_index(path, json.dumps(FILES[path.removeprefix("export/")]).encode())
    return found


def read(exports, path):
    content = exports.convert(f"export/{path}", json.dumps(DAYS[path]).encode())
    return content.decode(), parse(content, path.replace(".json", ".md"))


def test_day_of_a_channel_is_a_document_with_its_authors(exports):
    text, document = read(exports, "general/2024-01-05.json")
    assert document.title == "#general, 2024-01-05"
    assert document.metadata["author"] == "Ada Lovelace, Bob Byron, deploys"
    assert document.metadata["created"] == "2024-01-05T09:00:00+00:00"
    assert document.metadata["modified"] == "2024-01-05T11:00:00+00:00"
    link = "[the budget](https://example.org/a?b=1&c=2)"
    assert f"**Ada Lovelace, 09:00:** @Bob Byron see {link} in #general & @here" in text
    assert "Release 7\n\nIt is out.\n\nAttached: notes.pdf" in text
    assert "secret" not in text and "joined" not in text


def test_threads_of_several_days_link_to_each_other(exports):
    first, second = read(exports, "general/2024-01-05.json")[0], read(exports, "general/2024-01-06.json")[0]
    assert first.index("Bob Byron, 10:00:** Seen.") < first.index("Continued on [2024-01-06](2024-01-06.md)")
    assert "Begun on [2024-01-05](2024-01-05.md)." in second
    assert "\n```\nx = 1\n```\n" in second


def test_direct_messages_are_named_by_their_members(exports):
    title = read(exports, "D1/2024-01-05.json")[1].title
    assert title == "Direct messages: Ada Lovelace, Bob Byron, 2024-01-05"


def test_slack_lists_are_not_ingested_as_documents(exports):
    places = dict(exports.place([f"export/{path}" for path in (*FILES, *DAYS)]))
    assert {places.pop(f"export/{path}") for path in FILES} == {"export_file"}
    assert places["export/general/2024-01-05.json"] == "export/general/2024-01-05.md"


def test_day_file_without_messages_is_ingested_unchanged(exports):
    for content in (b"[1, {]", b"[" * 100_000, b'[{"type": "message", "ts": "x"}]', b'{"a": 1}'):
        assert exports.convert("export/general/2024-01-05.json", content) in (content, b"")
