"""Folders of the repository that tests read."""

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
#: Sample files for parsers, by kind.
FILES: Final = ROOT / "tests" / "files"
