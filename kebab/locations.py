"""Places of Kebab's own files: in a clone of the repository, or in an installed package.

This module is also part of the command line, which doesn't import Django.
"""

import os
from pathlib import Path
from typing import Final

#: The folder that the packages lie in.
ROOT: Final = Path(__file__).resolve().parent.parent
_IS_CLONE: Final = (ROOT / "manage.py").exists()
#: The published schemas and the documents of the demonstration.
DOCS: Final = ROOT / "docs" if _IS_CLONE else ROOT / "kebab" / "docs"


def data_directory() -> Path:
    """Return the folder of KEBAB_DATA_DIR; else `.kebab` in a clone, `~/.local/share/kebab` for a package."""
    named = os.environ.get("KEBAB_DATA_DIR", "").strip()
    if named:
        return Path(named).expanduser().resolve()
    if _IS_CLONE:
        return (ROOT / ".kebab").resolve()
    shared = os.environ.get("XDG_DATA_HOME", "").strip()
    return ((Path(shared) if shared else Path.home() / ".local" / "share") / "kebab").resolve()
