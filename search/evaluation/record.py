"""What somebody else has to know to repeat a run."""

import shutil
import subprocess
from typing import Any

from django.conf import settings

import kebab
from kebab.people.models import Workspace
from kebab.people.preferences import preferences
from search.evaluation.beir import JudgedSet
from search.vectors.spaces import live_space


def run_record(workspace: Workspace, judged: JudgedSet) -> dict[str, Any]:
    """Give code, settings, space, topics and judgements of a run, JSON-ready."""
    space = live_space(workspace)
    return {
        "code": {"version": kebab.__version__, "commit": _commit()},
        "settings": {**preferences(workspace), "embedder": settings.KEBAB_EMBEDDER},
        "space": None if space is None else f"{space.model}@{space.revision}",
        "exact_scan_limit": settings.KEBAB_EXACT_SCAN_LIMIT,
        "set": {
            "documents": judged.documents,
            "topics": len(judged.topics),
            "judgements": sum(map(len, judged.qrels.values())),
            "sha256": dict(judged.digests),
        },
    }


def _commit() -> str | None:
    """Give the commit that the code is of, `-dirty` behind it if changed since; None outside a checkout."""
    git = shutil.which("git")
    if git is None or not (settings.BASE_DIR / ".git").exists():
        return None
    asked = [git, "-C", str(settings.BASE_DIR), "describe", "--always", "--dirty", "--abbrev=40"]
    found = subprocess.run(asked, capture_output=True, text=True, check=False)
    return found.stdout.strip() or None
