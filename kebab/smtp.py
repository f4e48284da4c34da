"""Sending of mails by SMTP within limits of time and bytes, whatever the server does.

The time limit of Django's backend applies to one read each: a server that drips its greeting could hold a
thread of a web process for hours, and one that never ends an answer would fill its memory.
"""

import smtplib
import time
from typing import Any, Final

from django.core.mail.backends import smtp

#: Of a connection, over which one mail is sent, until its last answer; and of one read or write.
LIMIT_S: Final = 20.0
STEP_LIMIT_S: Final = 10
#: Of all that the server says; an answer has some lines.
MAX_BYTES: Final = 65_536
_PIECE_BYTES: Final = 4_096


class EmailBackend(smtp.EmailBackend):
    """Django's backend over bounded connections; several mails at once share the limits of one."""

    @property
    def connection_class(self) -> type[smtplib.SMTP]:
        """Return the class of its connections."""
        return _BoundedTls if self.use_ssl else _Bounded


class _Answers:
    """The answers of a server, read line by line. Raises OSError beyond the limits of the connection."""

    def __init__(self, connection: "_Bounded") -> None:
        self._connection = connection
        self._sock: Any = connection.sock
        self._received = bytearray()

    def readline(self, limit_bytes: int) -> bytes:
        """Return the next line, of which the end is missing if it is longer or the server has left."""
        while b"\n" not in self._received and len(self._received) < limit_bytes:
            self._sock.settimeout(min(STEP_LIMIT_S, self._connection.remaining_s()))
            piece = self._sock.recv(_PIECE_BYTES)
            if not piece:
                break
            self._connection.count(piece)
            self._received += piece
        end = self._received.find(b"\n", 0, limit_bytes) + 1 or limit_bytes
        line = bytes(self._received[:end])
        del self._received[:end]
        self._sock.settimeout(STEP_LIMIT_S)
        return line

    def close(self) -> None:
        """Do nothing: the socket is closed by the connection."""


class _Bounded(smtplib.SMTP):
    """A connection that reads answers within the limits."""

    _answers: _Answers | None = None

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self._ends_at = time.monotonic() + LIMIT_S
        self._left_bytes = MAX_BYTES
        super().__init__(*arguments, **options)

    # The library sets a file of the socket before it reads the first answer, and None once it is closed or
    # encrypted.
    @property
    def file(self) -> _Answers | None:
        return self._answers

    @file.setter
    def file(self, opened: Any) -> None:
        self._answers = None if opened is None else _Answers(self)
        if opened is not None:
            opened.close()

    def remaining_s(self) -> float:
        """Return the time that is left. Raises TimeoutError."""
        left_s = self._ends_at - time.monotonic()
        if left_s <= 0:
            raise TimeoutError(f"the mail server has not taken the mail within {LIMIT_S:.0f} s")
        return left_s

    def count(self, piece: bytes) -> None:
        """Count what the server has sent. Raises OSError beyond the limit."""
        self._left_bytes -= len(piece)
        if self._left_bytes < 0:
            raise OSError(f"the mail server has answered more than {MAX_BYTES:,} bytes")


class _BoundedTls(_Bounded, smtplib.SMTP_SSL):
    """The same, encrypted from the start."""
