"""A page of a PDF as a picture, drawn in a process with limits: somebody else wrote the PDF."""

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
    """There is no such page, or it can't be drawn within the limits."""


def page_png(content: BinaryIO, page: int) -> bytes:
    """Return page `page`, from 1, of a PDF as PNG. Raises PageNotDrawn."""
    with TemporaryFile() as copy:  # the storage may have no file that a process can be given
        shutil.copyfileobj(content, copy)
        copy.seek(0)
        try:
            ended = subprocess.run(
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
    if ended.returncode != 0:
        raise PageNotDrawn(f"page {page} can't be drawn (status {ended.returncode})")
    return ended.stdout


def _command(page: int) -> list[str]:
    options = ["--parent", str(os.getpid()), "--page", str(page)]
    return [sys.executable, "-P", "-s", "-B", "-m", "search.documents.pdf_render.child", *options]


def _environment() -> dict[str, str]:
    """Nothing of ours but where the code is: a parser that is taken over finds no secret."""
    package_root = str(Path(search.__file__).resolve().parent.parent)
    return {"PATH": os.defpath, "LANG": "C.UTF-8", "PYTHONPATH": package_root}
