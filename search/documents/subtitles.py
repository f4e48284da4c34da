"""Parser of subtitles in WebVTT, SubRip, SubViewer, SubStation Alpha and TTML: cues with times and speakers.

It is home-made, as the two common libraries either reject a file for one broken cue or return its text
without a warning.
"""

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

# Lines that show the format.
_HEAD_LINES = 20
#: Maximum share of broken cues; above it the times of a file are unreliable.
MAX_BROKEN_SHARE = 0.1
_TIME = r"(?:([0-9]{1,4}):)?([0-9]{1,2}):([0-9]{1,2})[.,]([0-9]{1,3})"
#: Between the times SubViewer has a comma.
_TIMING = re.compile(rf"\s*{_TIME}(?:\s*-->\s*|,){_TIME}(?:\s.*)?")
#: A line of times, readable or not; an arrow later in a line is text.
_ARROW = re.compile(rf"\s*(?:[0-9]\S{{0,30}}\s*)?-->|{_TIME},{_TIME}\s*$")
#: A line of SubStation Alpha: layer, start, end, style, speaker, four more fields, text.
_DIALOGUE = re.compile(r"Dialogue:[^,]*,([^,]*),([^,]*),[^,]*,([^,]*),(?:[^,]*,){4}(.*)")
_SCRIPT_TITLE = re.compile(r"Title:\s*(.*)")
_BREAKS = re.compile(r"\\[Nnh]")
_TTML = re.compile(r"<(?:\w+:)?tt[\s>]")
#: A paragraph of TTML with its attributes, and each of its times.
_PARAGRAPH = re.compile(r"<(?:\w+:)?p\b([^<>]*)>(.*?)</(?:\w+:)?p\s*>", re.DOTALL)
_PARAGRAPH_END = re.compile(r"</(?:\w+:)?p\s*>")
_ANY_TAG = re.compile(r"<(/?)([^<>\s/]+)[^<>]*>")
_ATTRIBUTE = re.compile(r"\b(begin|end|dur)\s*=\s*[\"']([0-9][0-9:]*(?:\.[0-9]+)?)(h|m|s|ms)?[\"']")
_UNITS = {"h": 3_600_000, "m": 60_000, "s": 1_000, "ms": 1}
#: WebVTT blocks that are no cues.
_ASIDE = re.compile(r"(?:NOTE|STYLE|REGION)(?:\s|$)")
_HEADER = re.compile(r"\ufeff?WEBVTT(?:[ \t]+-?[ \t]*(.*))?")
_VOICE = re.compile(r"<v(?:\.[^\s<>]*)?[ \t]+([^<>]{1,200})>")
#: WebVTT's times of words within a cue; a file with them repeats the previous line in each cue.
_WORD_TIME = re.compile(r"<[0-9:.]{5,15}>")
_TAG = re.compile(
    r"</?(?:[bicuvs]|font|lang|ruby|rt)(?:[.\s][^<>]{0,500})?/?>|\{\\[^{}]{0,100}\}", re.IGNORECASE
)


class NoCues(ValueError):
    """The text is no transcript with usable times."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cue:
    """The speech from `start_ms` to `end_ms`, in milliseconds from the start of the recording."""

    start_ms: int
    end_ms: int
    text: str
    #: The speaker if the file names one; else empty.
    speaker: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """The cues in the file's order, the title and the broken lines."""

    cues: tuple[Cue, ...]
    #: The text after WEBVTT in the first line; else empty.
    title: str
    #: Line numbers, from 1, of unreadable times; their cues get the time between their neighbours.
    broken_lines: tuple[int, ...]


@dataclass(slots=True, kw_only=True)
class _Draft:
    line: int
    #: None when the times could not be read.
    times: tuple[int, int] | None
    lines: list[str]


def read_cues(lines: Sequence[str]) -> Transcript:
    """Parse the cues of a file's lines, in linear time.

    Raises: NoCues if there is none, or if more than MAX_BROKEN_SHARE of them have no readable times.
    """
    drafts = list(_drafts_of(lines))
    broken = tuple(draft.line for draft in drafts if draft.times is None)
    if len(broken) > MAX_BROKEN_SHARE * len(drafts):
        raise NoCues(f"{len(broken)} of {len(drafts)} cues lack readable times, in line {broken[0]} first.")
    if any(_WORD_TIME.search(line) for draft in drafts for line in draft.lines):
        _drop_repeated_lines(drafts)
    cues = tuple(cue for cue in _cues(drafts) if cue.text)
    if not cues:
        raise NoCues("The file contains no cue with text.")
    header = _HEADER.fullmatch(lines[0]) or next(
        filter(None, map(_SCRIPT_TITLE.match, lines[:_HEAD_LINES])), None
    )
    return Transcript(cues=cues, title=_strip_markup(header[1] or "") if header else "", broken_lines=broken)


def _drafts_of(lines: Sequence[str]) -> Iterator[_Draft]:
    """Return the cues by the format that the first lines show."""
    if any(map(_TTML.search, lines[:_HEAD_LINES])):
        return _drafts_of_ttml("\n".join(lines))
    if lines and lines[0].lstrip("\ufeff").strip().lower() == "[script info]":
        return _drafts_of_script(lines)
    return _drafts(lines)


def _drafts_of_script(lines: Sequence[str]) -> Iterator[_Draft]:
    for number, line in enumerate(lines, start=1):
        if found := _DIALOGUE.match(line):
            start, end, speaker, text = found.groups()
            voice = f"<v {speaker.strip()}>" if speaker.strip() else ""
            times = _times(f"{start.strip()} --> {end.strip()}")
            yield _Draft(line=number, times=times, lines=[voice + _BREAKS.sub(" ", text)])


def _drafts_of_ttml(text: str) -> Iterator[_Draft]:
    line, end = 1, 0
    last = max((found.end() for found in _PARAGRAPH_END.finditer(text)), default=0)
    for found in _PARAGRAPH.finditer(text, 0, last):
        line, end = line + text.count("\n", end, found.start()), found.start()
        stated = {name: _time_of_ttml(clock, unit) for name, clock, unit in _ATTRIBUTE.findall(found[1])}
        start, stop = stated.get("begin", -1), stated.get("end", -1)
        if "dur" in stated:
            stop = start + stated["dur"]
        words = _ANY_TAG.sub(lambda tag: " " if tag[2].endswith("br") else "", found[2])
        yield _Draft(line=line, times=(start, stop) if 0 <= start <= stop else None, lines=[words])


def _time_of_ttml(clock: str, unit: str) -> int:
    """Return the milliseconds of `1.5` seconds, or of `00:00:01.500`; without frames, a fourth part."""
    parts = [float(part or 0) for part in clock.split(":")[:3]]
    if unit or len(parts) < 3:
        return int(parts[0] * _UNITS[unit or "s"])
    return int((parts[0] * 60 + parts[1]) * 60_000 + parts[2] * 1_000)


def _drafts(lines: Sequence[str]) -> Iterator[_Draft]:
    draft: _Draft | None = None
    is_aside = False
    for number, line in enumerate(lines, start=1):
        if _ARROW.match(line) and not is_aside:
            if draft is not None:
                if draft.lines and draft.lines[-1].strip().isdigit():
                    draft.lines.pop()  # the number of the next cue, without a blank line before it
                yield draft
            draft = _Draft(line=number, times=_times(line), lines=[])
        elif not line.strip():
            is_aside = False
            if draft is not None:
                yield draft
                draft = None
        elif draft is not None:
            draft.lines.append(line)
        else:
            is_aside = is_aside or _ASIDE.match(line) is not None
    if draft is not None:
        yield draft


def _times(line: str) -> tuple[int, int] | None:
    timing = _TIMING.fullmatch(line)
    if timing is None:
        return None
    start, end = _milliseconds(timing.groups()[:4]), _milliseconds(timing.groups()[4:])
    return (start, end) if start <= end else None


def _milliseconds(parts: Sequence[str | None]) -> int:
    hours, minutes, seconds, fraction = parts
    whole = (int(hours or 0) * 60 + int(minutes or 0)) * 60 + int(seconds or 0)
    return whole * 1000 + int((fraction or "").ljust(3, "0"))


def _drop_repeated_lines(drafts: Sequence[_Draft]) -> None:
    """Remove a cue's first lines that repeat the last line of the previous cue, as in rolling captions."""
    last = ""
    for draft in drafts:
        plain = [_strip_markup(line) for line in draft.lines]
        while plain and plain[0] in ("", last):
            del plain[0], draft.lines[0]
        last = plain[-1] if plain else last


def _cues(drafts: Sequence[_Draft]) -> Iterator[Cue]:
    """Return the cues; one without readable times lasts from the previous end to the next start."""
    following = [0] * len(drafts)
    start = drafts[-1].times[1] if drafts and drafts[-1].times else 0
    for index in range(len(drafts) - 1, -1, -1):
        following[index] = start
        times = drafts[index].times
        start = times[0] if times else start
    end = 0
    for draft, start_after in zip(drafts, following, strict=True):
        times = draft.times or (end, max(end, start_after))
        end = times[1]
        yield _cue(draft, times)


def _cue(draft: _Draft, times: tuple[int, int]) -> Cue:
    text = "\n".join(draft.lines)
    voices = _VOICE.findall(text)
    if len(voices) > 1:
        text = _VOICE.sub(r" \1: ", text)
    speaker = _strip_markup(voices[0]) if len(voices) == 1 else ""
    return Cue(start_ms=times[0], end_ms=times[1], text=_strip_markup(text), speaker=speaker)


def _strip_markup(text: str) -> str:
    """Return the text without tags, as one line."""
    return " ".join(html.unescape(_TAG.sub("", _WORD_TIME.sub("", text))).split())
