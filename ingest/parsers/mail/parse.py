"""Parser of mail: subject as title, sender and date, then the text; each line with its place in the file."""

from collections.abc import Sequence
from datetime import UTC, datetime
from email.utils import parseaddr, parsedate_to_datetime
from typing import Any, Final

from ingest.parsers.errors import ParseRefused
from ingest.parsers.mail.parts import MailPart, decode_value, mail_lines, read_part
from ingest.parsers.mail.reader import MailReader
from ingest.parsers.types import FileType, Outline

#: a file without any of these is no mail, whatever its name
MAIL_HEADERS: Final = frozenset({"from", "to", "subject", "date", "received", "message-id", "mime-version"})
#: lines before the header: a banner, an answer of the server, blank lines, the rest of another line
MAX_LINES_BEFORE: Final = 20
MAX_SIZE_DIGITS: Final = 12
#: a mail of 100 MB has 1.4 million lines
MAX_LINES: Final = 3_000_000


def parse_email(content: bytes, file: FileType) -> Outline:
    """Return the text of a mail, its attached texts and mails as sections; of other attachments the names.

    Origins are lines of the file, also for encoded text.

    Raises:
        ParseRefused: the mail is encrypted (`encrypted`) or has more than MAX_LINES lines (`too_large`).
        ValueError: the file is no mail.
    """
    lines = bounded_lines(_without_frame(content))
    mail = _read_mail(lines)
    reader = MailReader(lines, file)
    reader.read_mail(mail)
    if not reader.has_text and reader.is_locked:
        raise ParseRefused("encrypted", "the mail is encrypted: save it decrypted")
    return reader.outline(title=mail.header("subject") or reader.first_words, metadata=stated_metadata(mail))


def _without_frame(content: bytes) -> bytes:
    """Return a mail of Apple Mail without its size, which becomes a blank line, and its property list."""
    size, line_end, rest = content.partition(b"\n")
    is_framed = line_end and len(size) < MAX_SIZE_DIGITS and size.strip().isdigit()
    return line_end + rest[: int(size)] if is_framed else content


def _read_mail(lines: Sequence[bytes]) -> MailPart:
    """Return the mail of a file, which begins with its header or some lines of the program that stored it.

    Raises:
        ValueError: none of the first lines begins a header.
    """
    for start in range(1, min(len(lines), MAX_LINES_BEFORE) + 1):
        mail = read_part(lines, start, len(lines) + 1)
        if MAIL_HEADERS & mail.header_spans.keys():
            return mail
    raise ValueError("it lacks the header of a mail")


def parse_web_archive(content: bytes, file: FileType) -> Outline:
    """Return the pages of a web archive: MHTML, or what Confluence, Word and Excel save as a single file.

    Raises:
        ParseRefused: it has more than MAX_LINES lines (`too_large`).
        ValueError: the file holds no page.
    """
    lines = bounded_lines(content)
    reader = MailReader(lines, file)
    pages = list(reader.read_pages(read_part(lines, 1, len(lines) + 1)))
    if not pages:
        raise ValueError("it holds no page")
    title = next(filter(None, (page.title for page in pages)), reader.first_words)
    return reader.outline(title=title, metadata=pages[0].metadata)


def bounded_lines(content: bytes) -> Sequence[bytes]:
    """Return the lines of a file of mail.

    Raises:
        ParseRefused: it has more than MAX_LINES (`too_large`).
    """
    if content.count(b"\n") > MAX_LINES:
        raise ParseRefused("too_large", f"the mail has more than {MAX_LINES} lines")
    return mail_lines(content)


def stated_metadata(mail: MailPart) -> dict[str, Any]:
    """Return sender, recipients and date of a mail."""
    date = sent_at(mail)
    stated = {
        "author": _name_of(mail),
        "from": mail.header("from"),
        "to": mail.header("to"),
        "created": date.isoformat() if date else None,
    }
    return {name: value for name, value in stated.items() if value}


def sent_at(mail: MailPart) -> datetime | None:
    """Return the date of a mail with its offset (UTC where none is stated), None for an invalid one."""
    try:
        date = parsedate_to_datetime(mail.header("date"))
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)


def _name_of(mail: MailPart) -> str:
    """Return the sender's name, or the address where none is stated."""
    try:
        name, address = parseaddr(str(mail.headers.get("from", "")))
    except (ValueError, IndexError):
        return mail.header("from")
    return decode_value(name) or address or mail.header("from")
