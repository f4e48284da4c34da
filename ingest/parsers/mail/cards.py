"""Files of events (iCalendar, RFC 5545) and of people (vCard, RFC 6350): a section each."""

import quopri
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from ingest.parsers.decode import decode, split_lines
from ingest.parsers.mail.calendar import MAX_EVENTS, PROPERTY, read_events, unescape, unfold
from ingest.parsers.mail.text import PlacedLine
from ingest.parsers.outline_writer import SectionWriter, one_line
from ingest.parsers.types import FileType, LineSpan, Outline

MAX_CARDS: Final = 5_000
#: properties of a person with their labels; of others nothing is shown, as of photos, keys and ids
LABELS: Final = {
    "NICKNAME": "Nickname",
    "ORG": "Organization",
    "TITLE": "Title",
    "ROLE": "Role",
    "TEL": "Phone",
    "EMAIL": "E-mail",
    "ADR": "Address",
    "URL": "Web",
    "BDAY": "Birthday",
    "CATEGORIES": "Categories",
    "NOTE": "Note",
    "RELATED": "Related",
    "IMPP": "Chat",
}
QUOTED_PRINTABLE: Final = re.compile(r";(?:ENCODING=)?QUOTED-PRINTABLE", re.IGNORECASE)
CHARSET: Final = re.compile(r";CHARSET=\"?([\w.:-]{1,40})", re.IGNORECASE)
ENCODED_FILE: Final = re.compile(r"PHOTO|LOGO|SOUND|KEY", re.IGNORECASE)
CALENDAR_NAME: Final = re.compile(r"(?:X-WR-CALNAME|NAME)(?:;[^:]*)?:(.*)", re.IGNORECASE)
#: what separates the parts of a name or an address, unless it is escaped
PART: Final = re.compile(r"(?<!\\);")


def parse_calendar(content: bytes, file: FileType) -> Outline:
    """Return the events, to-dos and entries of a calendar, each with its time, place and people.

    Raises:
        ValueError: the file has none.
    """
    placed = _placed_lines(content)
    events = read_events(placed)
    cards = SectionWriter()
    for event in islice(events, MAX_EVENTS):
        if lines := [*event.facts, *event.description]:
            (summary, span), *facts = lines
            cards.add(summary.removeprefix("Summary: "), span, facts)
    cards.omitted("beyond_limit", sum(1 for _ in events), "events")
    if not cards.lines:
        raise ValueError("it lacks events")
    title = next((found[1] for line, _ in placed if (found := CALENDAR_NAME.fullmatch(line))), "")
    return cards.outline(title=one_line(unescape(title)) or None)


def parse_contacts(content: bytes, file: FileType) -> Outline:
    """Return the people of a file of vCards, each with phones, addresses and notes.

    Raises:
        ValueError: the file has none.
    """
    cards = SectionWriter()
    count = 0
    for properties in _people(cards, _placed_lines(content)):
        count += 1
        if count > MAX_CARDS:
            cards.omitted("beyond_limit", where="people")
            continue
        cards.add(*_name_of(properties), _facts(properties))
    if not cards.lines:
        raise ValueError("it lacks people")
    return cards.outline()


def _placed_lines(content: bytes) -> list[PlacedLine]:
    lines = split_lines(decode(content).removeprefix("\ufeff"))
    return [(line, LineSpan(number, number)) for number, line in enumerate(lines, start=1)]


Property = tuple[str, str, LineSpan]


def _people(cards: SectionWriter, placed: Sequence[PlacedLine]) -> Iterator[list[Property]]:
    """Yield the readable properties of each person: name, value and lines."""
    properties: list[Property] = []
    depth = 0
    for line, span in unfold(_join_quoted(placed)):
        found = PROPERTY.fullmatch(line)
        if found is None:
            continue
        name, parameters, value = found[1].upper().rpartition(".")[2], found[2], found[3]
        if name in ("BEGIN", "END"):
            depth += 1 if name == "BEGIN" else -1
            if name == "END" and properties:
                yield properties
                properties = []
        elif ENCODED_FILE.fullmatch(name):
            cards.omitted("encoded_data", len(value))
        elif depth > 0:
            properties.append((name, _value(parameters, value), span))
    if properties:
        yield properties


def _join_quoted(placed: Sequence[PlacedLine]) -> list[PlacedLine]:
    """Return the lines with those joined that quoted-printable breaks by `=`."""
    joined: list[PlacedLine] = []
    is_open = False
    for line, span in placed:
        if is_open:
            before, first = joined.pop()
            line, span = before[:-1] + line, LineSpan(first.start, span.end)
        joined.append((line, span))
        is_open = line.endswith("=") and QUOTED_PRINTABLE.search(line.partition(":")[0]) is not None
    return joined


def _value(parameters: str, value: str) -> str:
    if not QUOTED_PRINTABLE.search(parameters):
        return value
    octets = quopri.decodestring(value.encode("utf-8", "replace"))
    charset = CHARSET.search(parameters)
    try:
        return octets.decode(charset[1] if charset else "utf-8")
    except (LookupError, UnicodeError):
        return decode(octets)


def _name_of(properties: Sequence[Property]) -> tuple[str, LineSpan]:
    """Return the name of a person, or what else is known, with its lines."""
    named = {name: (value, span) for name, value, span in reversed(properties) if value.strip(" ;")}
    for key in ("FN", "N", "ORG", "EMAIL", "TEL"):
        if key in named:
            value, span = named[key]
            parts = [unescape(part) for part in PART.split(value)]
            family, given, *_ = (*parts, "", "")
            return (
                " ".join(filter(None, (given, family))) if key == "N" else ", ".join(filter(None, parts)),
                span,
            )
    return "Untitled", properties[0][2]


def _facts(properties: Sequence[Property]) -> list[PlacedLine]:
    return [
        (
            f"{LABELS[name]}: {', '.join(part for part in map(unescape, PART.split(value)) if part.strip())}",
            span,
        )
        for name, value, span in properties
        if name in LABELS and value.strip(" ;")
    ]
