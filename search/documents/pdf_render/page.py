"""Rendering of a PDF page as an image, in a sandboxed process, as the PDF is untrusted."""

import shutil
from base64 import b64decode
from contextlib import closing
from functools import partial
from tempfile import TemporaryFile
from typing import BinaryIO, Final

from kebab.sandbox.process import Deadline, Request, run_once
from kebab.sandbox.program import Limits, Program, SandboxError

PROGRAM: Final = Program(
    module="search.documents.pdf_render.child",
    limits=Limits(address_space_bytes=1024**3, cpu_seconds=10),
)
_TIMEOUT_S = 15.0


class PageNotDrawn(Exception):
    """The page doesn't exist, or can't be rendered within the limits."""


def page_png(content: BinaryIO, page: int) -> bytes:
    """Return page `page`, from 1, of a PDF as PNG. Raises PageNotDrawn."""
    with TemporaryFile() as copy:  # the blob store may have no file for the process
        shutil.copyfileobj(content, copy)
        copy.seek(0)
        request = Request(
            header={"page": page, "pdf_fd": copy.fileno()}, start_deadline=partial(Deadline, _TIMEOUT_S)
        )
        try:
            with closing(run_once(PROGRAM, request, pass_fds=[copy.fileno()])) as replies:
                picture = next(replies)["png"]
            if picture is not None:
                return b64decode(picture)
        except SandboxError as error:
            raise PageNotDrawn(f"page {page} can't be drawn: {error}") from None
        except (LookupError, TypeError, ValueError):
            raise PageNotDrawn(f"page {page} can't be drawn: the answer is malformed") from None
    raise PageNotDrawn(f"page {page} can't be drawn: it doesn't exist, or the PDF is damaged")
