"""Events of a calendar part (iCalendar, RFC 5545) as lines of text."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from ingest.parsers.mail.text import PlacedLine
from ingest.parsers.types import LineSpan

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
