"""Files of events (iCalendar, RFC 5545) and of people (vCard, RFC 6350): a section each."""

import quopri
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from ingest.parsers.decode import decode, split_lines
from ingest.parsers.mail.text import PlacedLine
from ingest.parsers.outline_writer import SectionWriter, one_line
from ingest.parsers.types import FileType, LineSpan, Outline

MAX_EVENTS, MAX_ATTENDEES, MAX_FOLDED_LINES = 500, 500, 2_000
EVENTS: Final = frozenset({"VEVENT", "VTODO", "VJOURNAL"})
PROPERTY: Final = re.compile(r'([\w.-]{1,60})((?:;[\w-]{1,60}(?:=(?:"[^"]*"|[^":;]*))?)*):(.*)', re.DOTALL)
NAME: Final = re.compile(r';CN=(?:"([^"]*)"|([^":;]*))', re.IGNORECASE)
ZONE: Final = re.compile(r';TZID=(?:"([^"]*)"|([^":;]*))', re.IGNORECASE)
TIME: Final = re.compile(r"(\d{4})(\d{2})(\d{2})(?:T(\d{2})(\d{2})\d{2}(Z?))?")
ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)
SHOWN: Final = {"SUMMARY": "Summary", "LOCATION": "Where", "ORGANIZER": "Organizer"}


@dataclass(slots=True)
class CalendarEvent:
    """An event: the lines of its facts, and those of its description."""

    facts: list[PlacedLine] = field(default_factory=list)
    description: list[PlacedLine] = field(default_factory=list)


def read_events(placed: Sequence[PlacedLine]) -> Iterator[CalendarEvent]:
    """Yield the events of a calendar."""
    open_components: list[str] = []
    properties: list[tuple[str, str, str, LineSpan]] = []
    for line, span in unfold(placed):
        match = PROPERTY.fullmatch(line)
        if match is None:
            continue
        name, parameters, value = match[1].upper(), match[2], match[3].strip()
        if name == "BEGIN":
            open_components.append(value.upper())
        elif name == "END":
            ended = open_components.pop() if open_components else ""
            if ended in EVENTS:
                yield _event(properties)
                properties = []
        elif open_components and open_components[-1] in EVENTS:
            properties.append((name, parameters, value, span))
    if properties:
        yield _event(properties)


def unfold(placed: Sequence[PlacedLine]) -> Iterator[PlacedLine]:
    """Yield the lines with those joined that begin with a blank, at most MAX_FOLDED_LINES."""
    pieces: list[str] = []
    spans: list[LineSpan] = []
    for line, span in placed:
        if pieces and line[:1] in (" ", "\t") and len(pieces) < MAX_FOLDED_LINES:
            pieces.append(line[1:])
        else:
            if pieces:
                yield "".join(pieces), LineSpan.around(spans)
            pieces, spans = [line], []
        spans.append(span)
    if pieces:
        yield "".join(pieces), LineSpan.around(spans)


def _event(properties: Sequence[tuple[str, str, str, LineSpan]]) -> CalendarEvent:
    event = CalendarEvent()
    times = {name: (_time(parameters, value), span) for name, parameters, value, span in properties}
    attendees = [
        (_person(parameters, value), span)
        for name, parameters, value, span in properties
        if name == "ATTENDEE"
    ][:MAX_ATTENDEES]
    for name, parameters, value, span in properties:
        if name == "DTSTART":
            end = next((times[key][0] for key in ("DTEND", "DUE") if key in times), "")
            event.facts.append((f"When: {' to '.join(filter(None, (times[name][0], end)))}", span))
        elif name in SHOWN:
            text = _person(parameters, value) if name == "ORGANIZER" else unescape(value)
            if text:
                event.facts.append((f"{SHOWN[name]}: {' '.join(text.split())}", span))
        elif name == "DESCRIPTION":
            event.description += [
                (line.strip(), span) for line in unescape(value).splitlines() if line.strip()
            ]
    if attendees:
        names = ", ".join(filter(None, (name for name, _ in attendees)))
        event.facts.append((f"Attendees: {names}", LineSpan.around([span for _, span in attendees])))
    event.facts.sort(key=lambda fact: not fact[0].startswith("Summary"))
    return event


def unescape(value: str) -> str:
    """Return a value without its escapes."""
    return ESCAPED.sub(lambda match: "\n" if match[1] in "nN" else match[1], value)


def _person(parameters: str, value: str) -> str:
    named = NAME.search(parameters)
    name = ((named[1] or named[2] or "") if named else "").strip()
    address = re.sub(r"^mailto:", "", value, flags=re.IGNORECASE).strip()
    return f"{name} <{address}>" if name and address and name != address else name or address


def _time(parameters: str, value: str) -> str:
    """Return a date or a time with its zone, as far as it is stated; other values as they are."""
    match = TIME.match(value)
    if match is None:
        return value[:100]
    date = "-".join(match.group(1, 2, 3))
    if match[4] is None:
        return date
    zone = ZONE.search(parameters)
    name = "UTC" if match[6] else (zone[1] or zone[2] or "") if zone else ""
    return f"{date} {match[4]}:{match[5]} {name}".rstrip()


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
