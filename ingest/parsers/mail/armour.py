"""Encoded blocks within plain text: PGP and uuencode."""

import re
from collections.abc import Sequence
from typing import Final

from ingest.parsers.mail.text import PlacedLine

PGP: Final = re.compile(r"-----BEGIN PGP (MESSAGE|SIGNATURE|SIGNED MESSAGE|PUBLIC KEY BLOCK)-----\s*")
UUENCODED: Final = re.compile(r"begin(?:-base64)? [0-7]{3,4} (\S.{0,200})")
#: a line is its number of bytes, then groups of four signs, of which blanks may be cut at the end
UUENCODED_LINE: Final = re.compile(r"[!-M][ -`]+")
SHORTEST_ENCODED: Final = 5
#: lines below the first one of a signed text
ARMOUR_HEADER: Final = re.compile(r"Hash: [\w, -]+")


def without_armour(placed: Sequence[PlacedLine]) -> tuple[list[PlacedLine], list[PlacedLine]]:
    """Return the readable lines, and a line for each encrypted text and each encoded file."""
    if not any(text.startswith(("-----BEGIN PGP", "begin")) for text, _ in placed):
        return list(placed), []
    readable: list[PlacedLine] = []
    closed: list[PlacedLine] = []
    end = ""
    for index, (text, span) in enumerate(placed):
        if end:
            end = "" if text.startswith(end) else end
        elif begun := PGP.fullmatch(text):
            if begun[1] == "MESSAGE":
                closed.append(("Encrypted text (PGP)", span))
            end = "" if begun[1] == "SIGNED MESSAGE" else f"-----END PGP {begun[1]}-----"
        elif (begun := UUENCODED.fullmatch(text)) and _is_encoded(placed[index + 1 : index + 2]):
            closed.append((f"Attachment: {begun[1].strip()} (uuencoded)", span))
            end = "====" if "-base64" in text else "end"
        elif not (ARMOUR_HEADER.fullmatch(text) and index and PGP.fullmatch(placed[index - 1][0])):
            readable.append((text, span))
    return readable, closed


def _is_encoded(lines: Sequence[PlacedLine]) -> bool:
    """Return whether the first of the lines is in base64, or in uuencode, which may have blanks."""
    line = lines[0][0].rstrip() if lines else ""
    if len(line) < SHORTEST_ENCODED or not line.isascii():
        return False
    groups = -(-((ord(line[0]) - ord(" ")) % 64) // 3)
    return " " not in line or (UUENCODED_LINE.fullmatch(line) is not None and len(line) <= 1 + 4 * groups)
