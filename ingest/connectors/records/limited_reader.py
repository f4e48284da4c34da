"""Reader of a source whose server is talked to in a limited process alone."""

import json
import logging
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

from django.conf import settings as django_settings

from ingest.connectors.errors import ListingFailed, SourceAway
from ingest.connectors.records.requests import ReaderLimits
from ingest.connectors.records.wire import Record, WarningRecord, decode_error, decode_record
from ingest.connectors.redaction import redact
from ingest.connectors.web.requests import user_agent
from kebab.sandbox.process import Deadline, Request, SandboxProcess
from kebab.sandbox.program import BODY, ChildDied, Header, Limits, Program, SandboxUnavailable

logger = logging.getLogger(__name__)

LIMITS: Final = ReaderLimits()
# Between two signs of life: longer than a server may be silent, or ask to wait.
_SILENCE_S: Final = 300.0
# With the time in which what was listed is stored.
_LONGEST_S: Final = 24 * 3_600.0
# Also malformed frames: the process may be hostile by now.
_DEATHS: Final = (ChildDied, LookupError, TypeError, ValueError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """A source to read."""

    #: `module:class` of its reader
    reader: str
    limits: Limits
    config: Mapping[str, Any]
    credentials: Mapping[str, str]
    #: that its server or program may repeat
    secrets: Sequence[str] = field(default=(), repr=False)

    @property
    def server(self) -> str:
        """Return the name of what is read."""
        return urlsplit(self.config.get("url", "")).hostname or "The program"

    def encode(self) -> bytes:
        """Return what the process needs to open it, which is sent through a pipe alone."""
        limits = asdict(LIMITS) | {"request_s": django_settings.KEBAB_CRAWL_LIMIT_S}
        settings = {
            "config": dict(self.config),
            "credentials": dict(self.credentials),
            "private_hosts": sorted(django_settings.KEBAB_PRIVATE_HOSTS),
            "user_agent": user_agent(),
            "limits": limits,
        }
        return json.dumps({"reader": self.reader, "settings": settings}).encode()


class LimitedReader:
    """A RecordReader in a process of its own, which starts when first needed, and again after it has died.

    It is for one thread. `while_waiting` is called about four times a second during a wait, whatever the
    server does, and ends the wait by raising.
    """

    def __init__(self, opening: Opening, while_waiting: Callable[[], None]) -> None:
        self._program = Program(module="ingest.connectors.records.child", limits=opening.limits)
        self._server = opening.server
        self._content = opening.encode()
        self._secrets = opening.secrets
        self._while_waiting = while_waiting
        self._process: SandboxProcess | None = None
        self._died_in_a_row = 0

    def records(self, cursor: str) -> Iterator[Record]:
        """Yield records of what has changed since `cursor`. Raises ListingFailed, SourceAway."""
        try:
            with closing(self._act({"act": "list", "cursor": cursor})) as frames:
                yield from map(self._decode, frames)
        except _DEATHS as death:
            raise ListingFailed(self._describe(death)) from death

    def probe(self) -> str | None:
        """Return the path of the first document, None without one. Raises ListingFailed, SourceAway."""
        try:
            with closing(self._act({"act": "probe"})) as frames:
                return next((str(frame["path"]) for frame in frames), None)
        except _DEATHS as death:
            raise ListingFailed(self._describe(death)) from death

    def fetch(self, path: str, locator: str, limit_bytes: int) -> bytes:
        """Return the bytes of a document. Raises FileNotFoundError, OSError for it alone, SourceAway."""
        act = {"act": "fetch", "path": path, "locator": locator, "limit_bytes": limit_bytes}
        try:
            content = self._fetch(act)
        except _DEATHS as death:
            self._died_in_a_row += 1
            is_away = self._died_in_a_row >= LIMITS.broken_in_a_row
            raise (SourceAway if is_away else OSError)(self._describe(death)) from death
        self._died_in_a_row = 0
        return content

    def _fetch(self, act: Header) -> bytes:
        """Fetch a document, again if the process was killed from outside."""
        try:
            [content] = [bytes(frame.get(BODY, b"")) for frame in self._act(act)]
        except ChildDied as death:
            if not death.was_killed_from_outside:
                raise
            [content] = [bytes(frame.get(BODY, b"")) for frame in self._act(act)]
        return content

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            process.close()

    def _act(self, header: Header) -> Generator[Header, None, None]:
        """Yield the frames of an act without the last; only a process that has ended it is used again.

        Raises ChildDied, and the errors of the act.
        """
        deadline = Deadline(_SILENCE_S, seconds_per_step=_SILENCE_S, most_seconds=_LONGEST_S)
        request = Request(
            header=header,
            content=self._content,
            start_deadline=lambda: deadline,
            log_stderr=self._log,
            on_wait=self._while_waiting,
        )
        try:
            process, self._process = self._process or self._start(), None
        except SandboxUnavailable as error:
            raise SourceAway(f"{self._server} can't be read now: {error}.") from error
        last: Header | None = None
        try:
            with closing(process.exchange(request, deadline)) as frames:
                for frame in frames:
                    if "end" in frame or "error" in frame:
                        last = frame
                        break
                    yield frame
                    deadline.extend()
        finally:
            if last is None:
                process.close()
            else:
                self._process = process
        if last is not None and "error" in last:
            raise decode_error({**last, "message": redact(last["message"], self._secrets)})

    def _decode(self, frame: Header) -> Record:
        record = decode_record(frame)
        if isinstance(record, WarningRecord):
            return WarningRecord(message=redact(record.message, self._secrets))
        return record

    def _start(self) -> SandboxProcess:
        return SandboxProcess(self._program, on_wait=self._while_waiting)

    def _describe(self, death: Exception) -> str:
        reason = death.reason if isinstance(death, ChildDied) else "it sent a malformed answer"
        return f"{self._server} answers what its reader can't take: {reason}."

    def _log(self, text: str) -> None:
        logger.warning("the reader of a source: %s", redact(text, self._secrets))
