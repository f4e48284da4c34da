"""Sandboxed process that reads documents from standard input and writes their chunks to standard output.

Run as `python -m ingest.sandbox.child --parent PID --memory-bytes N`. It ends with its parent, at
the end of its input, and when it runs out of memory.
"""

import argparse
import gc
import logging
import os
import resource
import signal
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import BinaryIO

from ingest.chunking.chunker import Chunker
from ingest.chunking.types import chunker_version
from ingest.parsers.errors import ParseRefused, SandboxUnavailable
from ingest.parsers.failure_log import failure_location
from ingest.parsers.progress import report_progress_to
from ingest.parsers.registry import parse, parser_version_for
from ingest.parsers.types import ParsedDocument
from ingest.sandbox.frames import GOING_ON, Header, frame_start, read_frame
from ingest.sandbox.stated_fields import with_overrides, with_title
from ingest.sandbox.types import Overrides, chunk_to_wire
from kebab.stack.supervisor.lifeline import die_with_parent
from search.embedders.minilm.tokenizer import TokenCounter

logger = logging.getLogger(__name__)

#: chunks in one frame, so that a large document is not held twice
FRAME_CHUNKS = 400
OPEN_FILES = 64
#: writable memory above that of the idle process; with the code of libraries it stays below 700 MB
MAX_DATA_BYTES = 560 * 1024**2


def main() -> None:
    """Digest documents until standard input ends."""
    options = _options()
    die_with_parent(signal.SIGKILL, parent_pid=options.parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(name)s: %(message)s")
    documents, replies = sys.stdin.buffer, _private_stdout()
    chunker = Chunker(TokenCounter())
    # parsed documents have no reference cycles: collection after every 700 objects took an eighth of the time
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    _limit_resources(options.memory_bytes)
    _send(replies, {"ready": os.getpid()})
    while (frame := read_frame(documents)) is not None:
        header, content = frame
        with report_progress_to(partial(_send, replies, GOING_ON)):
            for reply in _digest(header, content, chunker):
                _send(replies, reply)
        del frame, content


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--parent", type=int, required=True)
    parser.add_argument("--memory-bytes", type=int, required=True)
    return parser.parse_args()


def _private_stdout() -> BinaryIO:
    """Reserve standard output for frames: output of libraries goes to standard error."""
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return replies


def _limit_resources(memory_bytes: int) -> None:
    """Limit address space to that in use now plus `memory_bytes`, and its writable part to MAX_DATA_BYTES.

    Core files and writes to files are disabled.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (OPEN_FILES, OPEN_FILES))
    in_use = Path("/proc/self/statm")
    if in_use.exists():
        pages = [int(field) for field in in_use.read_text().split()]
        most = pages[0] * resource.getpagesize() + memory_bytes
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        most = pages[5] * resource.getpagesize() + min(memory_bytes, MAX_DATA_BYTES)
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))


def _digest(header: Header, content: bytes, chunker: Chunker) -> Iterator[Header]:
    """Yield frames with the chunks, then one with the document; or one with the reason for none."""
    path = header["path"]
    overrides = Overrides(**header["overrides"])
    began = time.monotonic()
    try:
        parsed = with_title(parse(content, path, first_rung=header["first_rung"]), overrides.title)
        tokens = header["chunk_tokens"]
        parsed_at = time.monotonic()
        chunks = chunker.chunk(parsed, path, max_tokens=tokens)
        took_s = {"parse": parsed_at - began, "chunk": time.monotonic() - parsed_at}
        for start in range(0, len(chunks), FRAME_CHUNKS):
            yield {"chunks": [chunk_to_wire(chunk) for chunk in chunks[start : start + FRAME_CHUNKS]]}
        yield {"document": _document(with_overrides(parsed, overrides), path, tokens), "took_s": took_s}
    except ParseRefused as refusal:
        yield {"refused": refusal.code, "detail": refusal.detail}
    except SandboxUnavailable as error:
        yield {"unavailable": str(error)}
    except MemoryError:
        yield {"died": "it ran out of memory"}
        raise SystemExit(1) from None  # the heap is fragmented
    except Exception as error:  # noqa: BLE001  the process must survive for the next document
        logger.error("digest failed: %s", failure_location(error))
        yield {"died": f"it failed with {type(error).__name__}: {str(error)[:200]}"}


def _document(parsed: ParsedDocument, path: str, chunk_tokens: int) -> Header:
    return {
        "title": parsed.title,
        "lang": parsed.lang,
        "tags": parsed.tags,
        "mime": parsed.mime,
        "media": parsed.media,
        "metadata": dict(parsed.metadata),
        "parser": parsed.parser,
        "parser_version": parser_version_for(path),
        "chunker_version": chunker_version(chunk_tokens),
        "warnings": parsed.warnings,
    }


def _send(pipe: BinaryIO, header: Header) -> None:
    pipe.write(frame_start(header))
    pipe.flush()


if __name__ == "__main__":
    main()
