"""Transfer encodings of the parts of mails (RFC 2045), as stated unless the lines show another."""

import binascii
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

BASE64_GROUP: Final = 4
BASE64: Final = re.compile(rb"[A-Za-z0-9+/]+={0,2}")
#: bytes of a line of base64 that is no word
LONG_LINE: Final = 40
#: bytes of a line of base64 that nothing announces
WHOLE_LINE: Final = 60
#: bytes that text does not have
CONTROL: Final = re.compile(rb"[\0-\x08\x0e-\x1a\x1c-\x1f\x7f]")
#: escapes that quoted-printable needs: of line ends, of its own sign, and outside of ASCII
QUOTED: Final = re.compile(rb"=(?:[ \t]*$|3D|20|09|0[AD]|2E|46|5F|[89A-F][0-9A-F])", re.MULTILINE)
QUOTED_UTF8: Final = re.compile(rb"=[C-F][0-9A-F]=[89AB][0-9A-F]")
SOFT_BREAK: Final = re.compile(rb"^[^\n]{60,75}=[ \t]*$", re.MULTILINE)
NOT_QUOTED: Final = re.compile(rb"=(?![0-9A-Fa-f]{2}|[ \t]*$)", re.MULTILINE)

Decode = Callable[[Sequence[bytes]], Iterator[bytes]]


def decode_lines(lines: Sequence[bytes], stated: str) -> list[bytes]:
    """Return the decoded bytes of each line of a part, with line ends; `stated` is its encoding."""
    return list(_decoder(lines, stated)(lines))


def _decoder(lines: Sequence[bytes], stated: str) -> Decode:
    if stated == "base64" or _is_unstated_base64(lines):
        return _decode_base64
    body = b"\n".join(lines)
    if NOT_QUOTED.search(body):
        is_quoted = stated == "quoted-printable" and QUOTED.search(body) is not None
    else:
        is_quoted = stated == "quoted-printable" or bool(QUOTED_UTF8.search(body) or SOFT_BREAK.search(body))
    return _decode_quoted_printable if is_quoted else _decode_plain


def _is_unstated_base64(lines: Sequence[bytes]) -> bool:
    """Return whether lines of one length, but for the last, are text in base64."""
    texts = [text for line in lines if (text := line.strip())]
    widths = {len(text) for text in texts[:-1]} or {len(text) for text in texts}
    if len(widths) != 1 or min(widths) < WHOLE_LINE or not all(map(BASE64.fullmatch, texts)):
        return False
    return CONTROL.search(b"".join(_decode_base64(texts))) is None


def _decode_plain(lines: Sequence[bytes]) -> Iterator[bytes]:
    return (line + b"\n" for line in lines)


def _decode_quoted_printable(lines: Sequence[bytes]) -> Iterator[bytes]:
    return (binascii.a2b_qp(line.rstrip() + b"\n") for line in lines)


def _decode_base64(lines: Sequence[bytes]) -> Iterator[bytes]:
    """Yield the decoded bytes of each line; a group that crosses a line end counts as the later line's.

    Missing padding at the end is added. Lines of text, such as a mailing list adds below, stay as they are.
    """
    encoded = _encoded_lines(lines)
    if not encoded:
        yield from _decoder(lines, "")(lines)
        return
    rest = b""
    last = max(encoded)
    for number, line in enumerate(lines):
        if number not in encoded:
            yield line + b"\n" if line.strip() or number > last else b""
            continue
        rest += line.strip() + (b"==" if number == last else b"")
        size = len(rest) - len(rest) % BASE64_GROUP
        try:
            yield binascii.a2b_base64(rest[:size])
        except binascii.Error:
            yield b""
        rest = rest[size:]


def _encoded_lines(lines: Sequence[bytes]) -> set[int]:
    """Return the indexes of the lines in base64: those before the first of text, and runs of long ones."""
    encoded: set[int] = set()
    is_open, is_mixed, size, longest, end = True, False, 0, 0, b""
    for number, line in enumerate(lines):
        text = line.strip()
        if not text:
            continue
        is_open = BASE64.fullmatch(text) is not None and (is_open or len(text) >= LONG_LINE)
        is_mixed |= not is_open
        if is_open:
            encoded.add(number)
            size, longest, end = size + len(text), max(longest, len(text)), text
    is_whole = size % BASE64_GROUP == 0 and end.endswith(b"=")
    is_likely = is_whole or longest >= LONG_LINE or (not is_mixed and size % BASE64_GROUP != 1)
    return encoded if is_likely else set()
