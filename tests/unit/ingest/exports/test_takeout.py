"""Google Takeout: notes of Keep, calendars, and files without documents."""

import json

import pytest

from ingest.exports.found import Exports
from ingest.parsers.registry import parse

PATHS = (
    "Takeout/archive_browser.html",
    "Takeout/Keep/Trip.json",
    "Takeout/Keep/Trip.html",
    "Takeout/Keep/map.png",
    "Takeout/Keep/Labels.txt",
    "Takeout/Drive/data.json",
    "Takeout/Drive/page.html",
    "Takeout/Calendar/Work.ics",
    "Takeout/Mail/Inbox.mbox",
    "notes.md",
)
NOTE = {
    "color": "DEFAULT",
    "isTrashed": False,
    "isPinned": False,
    "isArchived": False,
    "title": "Trip",
    "listContent": [{"text": "tent", "isChecked": True}, {"text": "stove", "isChecked": False}],
    "annotations": [{"source": "WEBLINK", "title": "Weather", "url": "https://example.org/w"}],
    "attachments": [{"filePath": "map.png", "mimetype": "image/png"}],
    "labels": [{"name": "travel"}],
    "userEditedTimestampUsec": 1704531600000000,
    "createdTimestampUsec": 1704445200000000,
}
CALENDAR = """BEGIN:VCALENDAR\r
PRODID:-//Google Inc//Google Calendar 70.9054//EN\r
X-WR-CALNAME:Work\r
BEGIN:VEVENT\r
DTSTART:20240105T090000Z\r
DTEND:20240105T100000Z\r
SUMMARY:Budget\r
  review\r
ATTENDEE;CN=Ada:mailto:ada@example.org\r
DESCRIPTION:Bring the sheets\\nand coffee\r
END:VEVENT\r
END:VCALENDAR\r
"""


@pytest.fixture
def exports():
    return Exports.find(PATHS)


def test_note_is_a_document_with_labels_and_dates(exports):
    content = exports.convert("Takeout/Keep/Trip.json", json.dumps(NOTE).encode())
    document = parse(content, "Takeout/Keep/Trip.md")
    assert (document.title, document.tags) == ("Trip", ("travel",))
    assert document.metadata["created"] == "2024-01-05T09:00:00+00:00"
    assert document.metadata["modified"] == "2024-01-06T09:00:00+00:00"
    for part in ("- [x] tent\n- [ ] stove\n", "[Weather](https://example.org/w)", "![map.png](map.png)"):
        assert part in content.decode()


def test_deleted_note_is_empty(exports):
    assert exports.convert("Takeout/Keep/Trip.json", json.dumps({**NOTE, "isTrashed": True}).encode()) == b""


def test_events_of_a_calendar_are_sections(exports):
    content = exports.convert("Takeout/Calendar/Work.ics", CALENDAR.encode())
    document = parse(content, "Takeout/Calendar/Work.md")
    assert document.title == "Work"
    assert [block.text for block in document.outline.blocks if block.kind == "heading"] == ["Budget review"]
    text = content.decode()
    assert "- When: 2024-01-05 09:00 UTC to 2024-01-05 10:00 UTC\n" in text
    assert "- Attendees: Ada <ada@example.org>\n\nBring the sheets\nand coffee\n" in text


def test_takeout_notes_and_calendars_become_markdown(exports):
    places = dict(exports.place(PATHS))
    assert places.pop("Takeout/Keep/Trip.json") == "Takeout/Keep/Trip.md"
    assert places.pop("Takeout/Calendar/Work.ics") == "Takeout/Calendar/Work.md"
    left_out = [path for path, place in places.items() if place == "export_file"]
    assert left_out == ["Takeout/archive_browser.html", "Takeout/Keep/Trip.html", "Takeout/Keep/Labels.txt"]
    assert all(path == place for path, place in places.items() if path not in left_out)


def test_file_without_a_keep_note_is_ingested_unchanged(exports):
    for content in (b"[]", b"{}", b"{", b'{"title": "a", "userEditedTimestampUsec": 1e400}'):
        assert exports.convert("Takeout/Keep/Trip.json", content) == content
    assert exports.convert("Takeout/Drive/data.json", b'{"a": 1}') == b'{"a": 1}'
