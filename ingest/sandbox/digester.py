"""Digester of documents in a sandboxed process, with one parser of the ladder after the other."""

import os
from collections.abc import Iterable
from contextlib import closing
from dataclasses import asdict
from typing import Any, Self

from ingest.chunking.types import MAX_TOKENS, ChunkDraft
from ingest.metrics import STAGE_SECONDS
from ingest.parsers.errors import ParserDied, ParseRefused, Quarantined, SandboxUnavailable
from ingest.sandbox.frames import Header
from ingest.sandbox.process import SandboxProcess
from ingest.sandbox.types import Digest, DigestLimits, Overrides, chunk_from_wire

NO_OVERRIDES = Overrides()
#: more than the rungs of any ladder, as a process that dies before choosing a parser never ends the ladder
MAX_ATTEMPTS = 4


class Digester:
    """Owner of one sandboxed process, started when first needed and again whenever it has died.

    It is for one thread; the process ends with the thread, with `close` and with the program.
    """

    def __init__(self, limits: DigestLimits | None = None) -> None:
        self._limits = limits or DigestLimits()
        self._process: SandboxProcess | None = None
        self._owner_pid = os.getpid()
        self._is_aborted = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def child_pid(self) -> int | None:
        """Return the process id of the child, None without one."""
        return None if self._process is None else self._process.pid

    @property
    def is_aborted(self) -> bool:
        """Return whether the digester refuses further documents."""
        return self._is_aborted

    def digest(
        self,
        content: bytes,
        path: str,
        overrides: Overrides = NO_OVERRIDES,
        *,
        chunk_tokens: int = MAX_TOKENS,
    ) -> Digest:
        """Return the document's chunks, of at most `chunk_tokens` each.

        When a parser dies, the next simpler one is tried.

        Raises:
            ParseRefused: no parser reads such content.
            Quarantined: every parser of its ladder died on it.
            SandboxUnavailable: no sandboxed process can be started; the document is not the cause.
        """
        deaths: list[str] = []
        while len(deaths) < MAX_ATTEMPTS:
            try:
                header = {
                    "path": path,
                    "first_rung": len(deaths),
                    "overrides": asdict(overrides),
                    "chunk_tokens": chunk_tokens,
                }
                return self._try_rung(header, content)
            except ParserDied as death:
                deaths.append(death.reason)
            except ParseRefused as refusal:
                if refusal.code != "no_rung" or not deaths:
                    raise
                break
        raise Quarantined(_quarantine_reason(deaths))

    def close(self) -> None:
        """Stop the child, if there is one."""
        process, self._process = self._process, None
        if process is not None and self._owner_pid == os.getpid():
            process.close()

    def abort(self) -> None:
        """Stop the document that another thread is digesting here, and refuse further ones."""
        self._is_aborted = True
        process = self._process  # read once: the other thread may set it to None meanwhile
        if process is not None:
            process.stop()

    def _try_rung(self, header: Header, content: bytes) -> Digest:
        """Try one rung, a second time when the first child was killed from outside."""
        try:
            return self._exchange(header, content)
        except ParserDied:
            is_retryable = self._process is not None and self._process.was_killed_from_outside
            self.close()
            if not is_retryable:
                raise
        return self._exchange(header, content)

    def _exchange(self, header: Header, content: bytes) -> Digest:
        chunks: list[ChunkDraft] = []
        with closing(self._ready_process().exchange(header, content)) as replies:
            for reply in replies:
                if "chunks" in reply:
                    chunks.extend(_drafts(reply["chunks"], len(chunks)))
                elif "document" in reply:
                    _record_times(reply.get("took_s"))
                    return _digest(reply["document"], chunks)
                elif "refused" in reply:
                    raise ParseRefused(reply["refused"], reply["detail"])
                elif "unavailable" in reply:
                    raise SandboxUnavailable(reply["unavailable"])
                else:
                    raise ParserDied(reply["died"])
        raise ParserDied("it ended its answer early")

    def _ready_process(self) -> SandboxProcess:
        if self._is_aborted:
            raise SandboxUnavailable("this digester was aborted")
        if self._owner_pid != os.getpid():
            # after a fork the child belongs to the parent process, whose messages would mix with ours
            self._process, self._owner_pid = None, os.getpid()
        if self._process is not None and not self._process.is_alive:
            self.close()
        if self._process is None:
            self._process = SandboxProcess(self._limits)
        if self._is_aborted:  # while the process was starting
            self._process.stop()
        return self._process


def _drafts(wire: Iterable[list[Any]], first_ordinal: int) -> list[ChunkDraft]:
    return [chunk_from_wire(ordinal, values) for ordinal, values in enumerate(wire, start=first_ordinal)]


def _digest(document: Header, chunks: list[ChunkDraft]) -> Digest:
    return Digest(
        title=document["title"],
        lang=document["lang"],
        tags=tuple(document["tags"]),
        mime=document["mime"],
        media=document["media"],
        metadata=document["metadata"],
        parser=document["parser"],
        parser_version=document["parser_version"],
        chunker_version=document["chunker_version"],
        warnings=tuple(document["warnings"]),
        chunks=tuple(chunks),
    )


def _record_times(took_s: object) -> None:
    """Record the times that the child reports, without trusting their types."""
    if isinstance(took_s, dict):
        for stage in ("parse", "chunk"):
            if isinstance(seconds := took_s.get(stage), float):
                STAGE_SECONDS.observe(seconds, stage)


def _quarantine_reason(deaths: list[str]) -> str:
    attempts = "; ".join(f"attempt {number}: {reason}" for number, reason in enumerate(deaths, start=1))
    return f"every parser failed on it: {attempts}"
