"""What a measurement was made on."""

import os
import platform
import sys
from importlib.metadata import version
from typing import Any

import psutil
from django.conf import settings

import kebab
from kebab.observability.health.versions import (
    pgvector_version,
    postgres_version,
    show_version,
    sqlite_version,
)

_MB = 1_000_000


def machine() -> dict[str, Any]:
    """Return the machine and the versions of what runs on it, JSON-ready; no name of a host or a person."""
    vector = pgvector_version()
    return {
        "kebab": kebab.__version__,
        "cores": os.cpu_count(),
        "memory_mb": round(psutil.virtual_memory().total / _MB),
        "system": f"{platform.system()} {platform.machine()}",
        "python": sys.version.split()[0],
        "postgres": show_version(postgres_version()),
        "pgvector": None if vector is None else show_version(vector),
        "sqlite": show_version(sqlite_version()),
        "onnxruntime": version("onnxruntime"),
        "embedder": settings.KEBAB_EMBEDDER,
    }
