"""Rendering of a PDF page as an image, in a process with resource limits, as the PDF is untrusted."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO

import search

_TIMEOUT_S = 15


class PageNotDrawn(Exception):
    """The page doesn't exist, or can't be rendered within the limits."""


def page_png(content: BinaryIO, page: int) -> bytes:
    """Return page `page`, from 1, of a PDF as PNG. Raises PageNotDrawn."""
    with TemporaryFile() as copy:  # the blob store may have no file for the process
        shutil.copyfileobj(content, copy)
        copy.seek(0)
        try:
            result = subprocess.run(
                _command(page),
                stdin=copy,
                capture_output=True,
                env=_environment(),
                cwd="/",
                timeout=_TIMEOUT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise PageNotDrawn(f"page {page} took over {_TIMEOUT_S} s") from None
    if result.returncode != 0:
        raise PageNotDrawn(f"page {page} can't be drawn (status {result.returncode})")
    return result.stdout


def _command(page: int) -> list[str]:
    options = ["--parent", str(os.getpid()), "--page", str(page)]
    return [sys.executable, "-P", "-s", "-B", "-m", "search.documents.pdf_render.child", *options]


def _environment() -> dict[str, str]:
    """Return an environment with the path of the code only: a compromised parser finds no secret."""
    package_root = str(Path(search.__file__).resolve().parent.parent)
    return {"PATH": os.defpath, "LANG": "C.UTF-8", "PYTHONPATH": package_root}
