"""Description of the machine that a measurement was made on."""

import os
import platform
import sys
from importlib.metadata import version
from typing import Any

import psutil
from django.conf import settings

import kebab
from kebab.stack.servers.versions import (
    format_version,
    pgvector_version,
    postgres_version,
    sqlite_version,
)

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
