"""Renditions of documents, drawn in a sandboxed process, as the documents are untrusted."""

import logging
from contextlib import closing
from functools import partial
from typing import Any, Final

from kebab.sandbox.process import Deadline, Request, run_once
from kebab.sandbox.program import Limits, Program, SandboxError

logger = logging.getLogger(__name__)

PROGRAM: Final = Program(
    module="ingest.renditions.child",
    limits=Limits(extra_address_space_bytes=1024**3, extra_data_bytes=512 * 1024**2, cpu_seconds=4),
)
_TIMEOUT_S: Final = 6.0


def draw_document(content: bytes, path: str) -> Any:
    """Return the rendition as the process sends it, unchecked; None if it isn't drawn within the limits."""
    request = Request(header={"path": path}, content=content, start_deadline=partial(Deadline, _TIMEOUT_S))
    try:
        with closing(run_once(PROGRAM, request)) as replies:
            return next(replies).get("rendition")
    except (SandboxError, StopIteration) as error:
        logger.warning("a document can't be drawn: %s", error)
        return None
