"""The configuration of a node's stack, read from the settings once."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from django.conf import settings

from kebab.stack.paths import DataDirectory

#: The queues of the ordinary worker. Embedding has a queue of its own, as it would starve the others.
WORKER_QUEUES = ("ingest", "mirror", "maintenance")
EMBED_QUEUES = ("embed",)


@dataclass(frozen=True, slots=True, kw_only=True)
class StackConfiguration:
    """The configuration of one node's stack."""

    directory: DataDirectory
    runtime_dir: str
    node_id: str
    host: str
    port: int
    worker_slots: int
    has_embedded_postgres: bool
    has_embedded_redis: bool
    postgres_user: str
    #: Django's settings of the default database.
    database: Mapping[str, Any] = field(repr=False)
    redis_url: str = field(repr=False)
    #: The folder of `manage.py`.
    project: Path

    @classmethod
    def from_settings(cls, *, host: str | None = None, port: int | None = None) -> Self:
        """Return the configuration from the settings."""
        return cls(
            directory=DataDirectory(settings.KEBAB_DATA_DIR),
            runtime_dir=settings.KEBAB_RUNTIME_DIR,
            node_id=settings.KEBAB_NODE_ID,
            host=host or settings.KEBAB_HOST,
            port=settings.KEBAB_PORT if port is None else port,
            worker_slots=settings.KEBAB_WORKER_SLOTS,
            has_embedded_postgres=settings.KEBAB_EMBEDDED_POSTGRES,
            has_embedded_redis=settings.KEBAB_EMBEDDED_REDIS,
            postgres_user=settings.KEBAB_POSTGRES_USER,
            database=settings.DATABASES["default"],
            redis_url=settings.REDIS_URL,
            project=settings.BASE_DIR,
        )

    @property
    def url(self) -> str:
        """Return the web process's URL for a browser on this machine."""
        host = "127.0.0.1" if self.host in {"0.0.0.0", "::", ""} else self.host  # noqa: S104 - compared only
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"
