"""Digester of documents in a sandboxed process, with one parser of the ladder after the other."""

import logging
from collections.abc import Iterator
from dataclasses import asdict
from functools import partial

from ingest.chunking.types import MAX_TOKENS, ChunkDraft
from ingest.digest.types import Digest, DigestLimits, Overrides, chunk_from_wire
from ingest.metrics import STAGE_SECONDS
from ingest.parsers.errors import ParseRefused, Quarantined
from kebab.sandbox.process import Request
from kebab.sandbox.program import OUT_OF_MEMORY, ChildDied, Header, Limits, Program
from kebab.sandbox.worker import SandboxWorker
from search.corpus.content_ids import content_hash

logger = logging.getLogger(__name__)

NO_OVERRIDES = Overrides()
#: more than the rungs of any ladder, as a process that dies before choosing a parser never ends the ladder
MAX_ATTEMPTS = 4
MODULE = "ingest.digest.child"
#: writable memory above that of the idle process; with the code of libraries it stays below 700 MB
MAX_DATA_BYTES = 560 * 1024**2


class Digester(SandboxWorker):
    """Owner of one sandboxed process that digests documents.

    It is for one thread; the process ends with the thread, with `close` and with the program.
    """

    def __init__(self, limits: DigestLimits | None = None) -> None:
        self._limits = limits or DigestLimits()
        memory_bytes = self._limits.memory_bytes
        most = Limits(
            extra_address_space_bytes=memory_bytes, extra_data_bytes=min(memory_bytes, MAX_DATA_BYTES)
        )
        super().__init__(Program(module=MODULE, limits=most))

    def digest(
        self,
        content: bytes,
        path: str,
        overrides: Overrides = NO_OVERRIDES,
        *,
        chunk_tokens: int = MAX_TOKENS,
    ) -> Digest:
        """Return the document's chunks, of at most `chunk_tokens` each.

        When a parser dies, the next simpler one is tried. Documents fragment the memory of their process: a
        parser for which it did not suffice is tried again in a new one.

        Raises:
            ParseRefused: no parser reads such content.
            Quarantined: every parser of its ladder died on it.
            SandboxUnavailable: no sandboxed process can be started; the document is not the cause.
        """
        deaths: list[str] = []
        header = {"path": path, "overrides": asdict(overrides), "chunk_tokens": chunk_tokens}
        while len(deaths) < MAX_ATTEMPTS:
            request = Request(
                header={**header, "first_rung": len(deaths)},
                content=content,
                start_deadline=partial(self._limits.start_deadline, len(content)),
                log_stderr=partial(_log_stderr, content),
            )
            is_new = self.child_pid is None
            try:
                return self.ask(request, _read_digest)
            except ChildDied as death:
                if death.reason == OUT_OF_MEMORY and not is_new:
                    continue
                deaths.append(f"{death.reason}: {death.detail}" if death.detail else death.reason)
            except ParseRefused as refusal:
                if refusal.code != "no_rung" or not deaths:
                    raise
                break
        attempts = "; ".join(f"attempt {number}: {reason}" for number, reason in enumerate(deaths, start=1))
        raise Quarantined(f"every parser failed on it: {attempts}")


def _log_stderr(content: bytes, text: str) -> None:
    logger.warning("parsing process on content %s: %s", content_hash(content), text)


def _read_digest(replies: Iterator[Header]) -> Digest:
    chunks: list[ChunkDraft] = []
    for reply in replies:
        if "chunks" in reply:
            numbered = enumerate(reply["chunks"], start=len(chunks))
            chunks.extend(chunk_from_wire(ordinal, values) for ordinal, values in numbered)
        elif "document" in reply:
            # The types of what the child reports are not trusted.
            took_s = reply.get("took_s")
            if isinstance(took_s, dict):
                for stage in ("parse", "chunk"):
                    if isinstance(seconds := took_s.get(stage), float):
                        STAGE_SECONDS.observe(seconds, stage)
            document = reply["document"]
            sequences = {name: tuple(document[name]) for name in ("tags", "warnings")}
            return Digest(**{**document, **sequences}, chunks=tuple(chunks))
        else:
            raise ParseRefused(reply["refused"], reply["detail"])
    raise ChildDied("it ended its answer early")
