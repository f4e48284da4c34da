"""Parses and chunks a document in a limited process, one parser of the ladder after the other."""

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
#: More than any ladder has rungs: what dies before a parser is even chosen never comes to the ladder's end.
MAX_ATTEMPTS = 4


class Digester:
    """Keeps one limited process, started when first needed and again whenever it has died.

    For one thread; the process ends with it, with `close` and with the program.
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
        """Process id of the child, None while there is none."""
        return None if self._process is None else self._process.pid

    @property
    def is_aborted(self) -> bool:
        """Return whether it refuses all that comes."""
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

        A parser that dies is left out and the next simpler one tried.

        Raises:
            ParseRefused: no parser reads such content.
            Quarantined: every parser of its ladder died on it.
            SandboxUnavailable: no limited process can be started; the document is not to blame.
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
                return self._ask_again(header, content)
            except ParserDied as death:
                deaths.append(death.reason)
            except ParseRefused as refusal:
                if refusal.code != "no_rung" or not deaths:
                    raise
                break
        raise Quarantined(_account(deaths))

    def close(self) -> None:
        """Ends the child, if there is one."""
        process, self._process = self._process, None
        if process is not None and self._owner_pid == os.getpid():
            process.close()

    def abort(self) -> None:
        """Ends what another thread is digesting here, and refuses all that comes after."""
        self._is_aborted = True
        process = self._process  # the other thread may let go of it meanwhile
        if process is not None:
            process.stop()

    def _ask_again(self, header: Header, content: bytes) -> Digest:
        """Tries one rung, twice when the first child was killed by somebody else."""
        try:
            return self._ask(header, content)
        except ParserDied:
            is_innocent = self._process is not None and self._process.was_killed_from_outside
            self.close()
            if not is_innocent:
                raise
        return self._ask(header, content)

    def _ask(self, header: Header, content: bytes) -> Digest:
        chunks: list[ChunkDraft] = []
        with closing(self._ready_process().exchange(header, content)) as replies:
            for reply in replies:
                if "chunks" in reply:
                    chunks.extend(_drafts(reply["chunks"], len(chunks)))
                elif "document" in reply:
                    _count_times(reply.get("took_s"))
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
            # after a fork the child is the parent's: talking to it would mix two conversations
            self._process, self._owner_pid = None, os.getpid()
        if self._process is not None and not self._process.is_alive:
            self.close()
        if self._process is None:
            self._process = SandboxProcess(self._limits)
        if self._is_aborted:  # while it was being started
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


def _count_times(took_s: object) -> None:
    """Count what the child says of itself, which need not be so."""
    if isinstance(took_s, dict):
        for stage in ("parse", "chunk"):
            if isinstance(seconds := took_s.get(stage), float):
                STAGE_SECONDS.observe(seconds, stage)


def _account(deaths: list[str]) -> str:
    told = "; ".join(f"attempt {number}: {reason}" for number, reason in enumerate(deaths, start=1))
    return f"every parser failed on it: {told}"
