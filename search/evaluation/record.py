"""Records of a run: everything that is needed to repeat it."""

import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from typing import Any

import psutil
from django.conf import settings

import kebab
from kebab.identity.models import Workspace
from kebab.people.workspace_settings.registry import preferences
from kebab.stack.servers.versions import (
    format_version,
    pgvector_version,
    postgres_version,
    sqlite_version,
)
from search.evaluation.beir import JudgedSet
from search.evaluation.judged import JudgedTopic
from search.models import Chunk
from search.vectors.spaces import live_space

_MB = 1_000_000


def describe_machine() -> dict[str, Any]:
    """Return hardware and software versions, JSON-ready, without names of hosts or persons."""
    vector = pgvector_version()
    return {
        "kebab": kebab.__version__,
        "cores": os.cpu_count(),
        "memory_mb": round(psutil.virtual_memory().total / _MB),
        "system": f"{platform.system()} {platform.machine()}",
        "python": sys.version.split()[0],
        "postgres": format_version(postgres_version()),
        "pgvector": None if vector is None else format_version(vector),
        "sqlite": format_version(sqlite_version()),
        "onnxruntime": version("onnxruntime"),
        "embedder": settings.KEBAB_EMBEDDER,
    }


def run_record(workspace: Workspace, judged: JudgedSet) -> dict[str, Any]:
    """Return code, settings, space, topics and judgements of a judged set's run, JSON-ready."""
    return {
        **_environment_record(workspace),
        "set": {
            "documents": judged.documents,
            "topics": len(judged.topics),
            "judgements": sum(map(len, judged.qrels.values())),
            "sha256": dict(judged.digests),
        },
    }


def topics_record(workspace: Workspace, topics: Iterable[JudgedTopic]) -> dict[str, Any]:
    """Return the record, with the machine, of a run over topics; `workspace` has the run's settings."""
    listed = list(topics)
    chunks = Chunk.objects.in_workspace(workspace)
    return {
        **_environment_record(workspace),
        "head_seq": workspace.head_seq,
        "set": {
            "documents": chunks.values("document").distinct().count(),
            "chunks": chunks.count(),
            "topics": len(listed),
            "judgements": sum(len(each.qrels) for each in listed),
            "sha256": topic_digests(listed),
        },
        "machine": describe_machine(),
    }


def topic_digests(topics: Iterable[JudgedTopic]) -> dict[str, str]:
    """Return digests of the topics and of their judgements."""
    listed = list(topics)
    return {
        "topics": _digest({each.topic_id: [each.text, each.filters] for each in listed}),
        "qrels": _digest({each.topic_id: _judgement_values(each) for each in listed}),
    }


def _environment_record(workspace: Workspace) -> dict[str, Any]:
    space = live_space(workspace)
    return {
        "code": {"version": kebab.__version__, "commit": _code_commit()},
        "settings": {**preferences(workspace), "embedder": settings.KEBAB_EMBEDDER},
        "space": None if space is None else f"{space.model}@{space.revision}",
        "exact_scan_limit": settings.KEBAB_EXACT_SCAN_LIMIT,
    }


def _judgement_values(topic: JudgedTopic) -> list[Any]:
    places = [[str(each.document), each.fragment, each.grade] for each in topic.qrels]
    return [topic.is_unanswerable, sorted(places)]


def _digest(value: Mapping[str, Any]) -> str:
    """Return the SHA-256 of `value` as JSON with sorted keys, so that the order of topics has no effect."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def _code_commit() -> str | None:
    """Return the code's commit, with the suffix `-dirty` if it is modified; None outside a checkout."""
    git = shutil.which("git")
    if git is None or not (settings.BASE_DIR / ".git").exists():
        return None
    command = [git, "-C", str(settings.BASE_DIR), "describe", "--always", "--dirty", "--abbrev=40"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    return found.stdout.strip() or None
