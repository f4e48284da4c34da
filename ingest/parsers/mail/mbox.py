"""Parser of mailboxes (mbox, RFC 4155): a section a mail, the mails of a thread together."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice, takewhile
from pathlib import PurePosixPath
from typing import Any, Final

from ingest.parsers.mail.parse import bounded_lines, sent_at, stated_metadata
from ingest.parsers.mail.parts import HEADER, MailPart, read_part
from ingest.parsers.mail.reader import MailReader
from ingest.parsers.types import FileType, LineSpan, Outline

MAX_MAILS: Final = 10_000
#: ids of earlier mails that are read of one mail
MAX_REFERENCES: Final = 100
SEPARATOR: Final = b"From "
#: such a line as programs write it: sender, time and year
ENVELOPE: Final = re.compile(rb"From \S+ .{0,100}\b\d\d?:\d\d\b.{0,40}\b\d{4}\b")
#: headers that every mail has, searched below other such lines
NEEDED: Final = (
    re.compile(rb"from[ \t]*:", re.IGNORECASE),
    re.compile(rb"(?:date|message-id)[ \t]*:", re.IGNORECASE),
)
MAX_HEADER_LINES: Final = 200
NEVER: Final = datetime.min.replace(tzinfo=UTC)
#: such a line of a mail that was quoted when it was stored
QUOTED: Final = re.compile(rb">+From ")
MESSAGE_ID: Final = re.compile(r"<[^<>\s]{1,250}>")
REPLY: Final = re.compile(
    r"(?:(?:re|fwd?|aw|wg|antw|sv|vs|rv|ref|odp|tr)(?:\[\d+\])?\s*:\s*|\[[^\]]{1,40}\]\s*)+", re.IGNORECASE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Letter:
    mail: MailPart
    sent: datetime | None
    thread: str


def parse_mbox(content: bytes, file: FileType) -> Outline:
    """Return the mails of a mailbox, the first MAX_MAILS, each as a section that no chunk leaves.

    A thread stands where its first mail does, its mails in the order of their dates. Origins are lines of the
    file.

    Raises:
        ParseRefused: the file has too many lines (`too_large`).
        ValueError: the file is no mailbox.
    """
    lines = [
        line[1:] if line.startswith(b">") and QUOTED.match(line) else line for line in bounded_lines(content)
    ]
    spans = _mails(lines)
    parts = [read_part(lines, start, end) for start, end in islice(spans, MAX_MAILS)]
    if not parts:
        raise ValueError("it lacks a line that begins a mail")
    letters = _in_threads(parts)
    reader = MailReader(lines, file, level=2)
    reader.omitted("beyond_limit", sum(1 for _ in spans), "mails")
    for letter in letters:
        if reader.lines:
            reader.walls.append(len(reader.lines) + 2)
        subject = letter.mail.header("subject") or "No subject"
        start = letter.mail.start
        reader.begin_section(subject, letter.mail.header_spans.get("subject", LineSpan(start, start)))
        reader.read_mail(letter.mail)
    single = letters[0].mail if len(letters) == 1 else None
    is_thread = len({_bare_subject(letter.mail)[0] for letter in letters}) == 1
    return reader.outline(
        title=(letters[0].mail.header("subject") if is_thread else "") or PurePosixPath(file.path).name,
        metadata=stated_metadata(single) if single else _metadata(letters),
    )


def _metadata(letters: Sequence[_Letter]) -> dict[str, Any]:
    """Return the number of mails, and the dates of the oldest and the newest."""
    dates = [letter.sent for letter in letters if letter.sent is not None]
    stated = {"created": min(dates).isoformat(), "modified": max(dates).isoformat()} if dates else {}
    return {"mails": len(letters), **stated}


def is_mailbox(start: bytes) -> bool:
    """Return whether the first line and the header below it begin a mailbox."""
    lines = start.replace(b"\r\n", b"\n").split(b"\n")
    return len(lines) > 1 and start.startswith(SEPARATOR) and _begins_mail(lines, 1)


def _mails(lines: Sequence[bytes]) -> Iterator[tuple[int, int]]:
    """Yield the first line of each mail, that of its header, and the line after its last."""
    start = 0
    for number, line in enumerate(lines, start=1):
        if not line.startswith(SEPARATOR) or number == len(lines):
            continue
        if number > 1 and lines[number - 2].strip():
            continue
        if _begins_mail(lines, number):
            if start:
                yield start, number
            start = number + 1
    if start:
        yield start, len(lines) + 1


def _begins_mail(lines: Sequence[bytes], number: int) -> bool:
    """Return whether line `number`, which looks like it, separates mails: a header follows."""
    if not HEADER.match(lines[number]):
        return False
    if ENVELOPE.match(lines[number - 1]):
        return True
    header = list(takewhile(bytes.strip, lines[number : number + MAX_HEADER_LINES]))
    return all(any(needed.match(line) for line in header) for needed in NEEDED)


def _in_threads(mails: Sequence[MailPart]) -> list[_Letter]:
    """Return the mails by thread, in the order of the threads' first mails; undated threads keep theirs."""
    threads = _Threads()
    letters = []
    for mail in mails:
        letters.append(_Letter(mail=mail, sent=sent_at(mail), thread=threads.add(mail)))
    by_thread: dict[str, list[_Letter]] = {}
    for letter in letters:
        by_thread.setdefault(threads.root(letter.thread), []).append(letter)
    ordered: list[_Letter] = []
    for thread in by_thread.values():
        is_dated = all(letter.sent is not None for letter in thread)
        ordered += sorted(thread, key=lambda letter: letter.sent or NEVER) if is_dated else thread
    return ordered


def _bare_subject(mail: MailPart) -> tuple[str, str]:
    """Return the subject of a mail, to be compared, and what stands before it: `Re: `."""
    subject = mail.header("subject").strip()
    prefix = REPLY.match(subject)
    return subject[prefix.end() if prefix else 0 :].casefold(), prefix[0] if prefix else ""


class _Threads:
    """Threads by the ids that mails have and refer to (a union-find), of replies without any by subject."""

    def __init__(self) -> None:
        self._above: dict[str, str] = {}
        self._by_subject: dict[str, str] = {}
        self._count = 0

    def add(self, mail: MailPart) -> str:
        """Add a mail after those before it in the file; return the id of it in its thread."""
        self._count += 1
        own = next(iter(MESSAGE_ID.findall(mail.header("message-id"))), f"no id {self._count}")
        references = MESSAGE_ID.findall(f"{mail.header('references')} {mail.header('in-reply-to')}")
        for reference in references[-MAX_REFERENCES:]:
            self._above[self.root(reference)] = self.root(own)
        bare, prefix = _bare_subject(mail)
        if not references and ":" in prefix and bare in self._by_subject:
            self._above[self.root(own)] = self.root(self._by_subject[bare])
        self._by_subject[bare] = own
        return own

    def root(self, name: str) -> str:
        """Return the id that stands for the thread of `name`."""
        path = []
        while (above := self._above.get(name, name)) != name:
            path.append(name)
            name = above
        self._above.update(dict.fromkeys(path, name))
        return name
