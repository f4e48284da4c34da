"""Addresses of the embedded servers, and the reading of those that operators give."""

import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlencode, urlsplit

import dj_database_url
from django.core.exceptions import ImproperlyConfigured
from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

from kebab.stack.paths import runtime_directory, validate_socket_path
from kebab.stack.servers import secrets

DATABASE_NAME = "kebab"
#: The role that owns the cluster and the tables.
DATABASE_OWNER = "kebab_owner"
#: The role of Kebab's processes: it owns nothing, and row-level security applies to it.
DATABASE_APPLICATION = "kebab_app"
#: Postgres names its socket after the port; nothing listens on it.
POSTGRES_PORT = 5432
# Of libpq's `target_session_attrs`, those that a standby doesn't have.
_WRITABLE = frozenset({"read-write", "primary"})


def postgres_socket_folder(data_dir: Path, runtime_dir: str = "") -> Path:
    """Return the folder of the Postgres socket.

    Raises:
        PathRefused: the socket's path would be longer than 107 bytes.
    """
    folder = runtime_directory(data_dir, runtime_dir) / "pg"
    # The lock file's name is longer, but only the socket's path is limited.
    return validate_socket_path(folder / f".s.PGSQL.{POSTGRES_PORT}").parent


def redis_socket(data_dir: Path, runtime_dir: str = "") -> Path:
    """Return the Redis socket.

    Raises:
        PathRefused: its path would be longer than 107 bytes.
    """
    return validate_socket_path(runtime_directory(data_dir, runtime_dir) / "r.sock")


def database_url(data_dir: Path, runtime_dir: str = "", *, role: str = DATABASE_APPLICATION) -> str:
    """Return the URL of the embedded database for one of its roles, for libpq and dj-database-url alike.

    Raises:
        PathRefused: the socket's path would be longer than 107 bytes.
    """
    folder = str(postgres_socket_folder(data_dir, runtime_dir))
    # urllib lower-cases the host part, so capitals have to be escaped.
    host = re.sub("[^a-z0-9._-]", lambda found: "".join(f"%{byte:02x}" for byte in found[0].encode()), folder)
    return f"postgresql://{role}@{host}:{POSTGRES_PORT}/{DATABASE_NAME}"


def redis_url(data_dir: Path, runtime_dir: str = "", *, db: int = 0) -> str:
    """Return the URL of the embedded Redis in Celery's format; `redis_client_url` converts it to redis-py's.

    Raises:
        PathRefused: the socket's path would be longer than 107 bytes, or the secrets cannot be read.
    """
    path = redis_socket(data_dir, runtime_dir)
    password = quote(secrets.load_or_create(data_dir).redis_password, safe="")
    return f"redis+socket://:{password}@{quote(str(path))}?virtual_host={db}"


def redis_client_url(url: str) -> str:
    """Convert a Redis URL to the format of redis-py's `from_url`; URLs of other schemes are unchanged."""
    parts = urlsplit(url)
    if parts.scheme != "redis+socket":
        return url
    query = parse_qs(parts.query)
    db = query.get("virtual_host", ["0"])[0]
    return f"unix://{parts.netloc}{parts.path}?{urlencode({'db': db})}"


def parse_database_url(url: str, engine: str, *, is_standby: bool = False) -> dict[str, Any]:
    """Return Django's settings of a database by a URL or connection string of libpq, or a dj-database-url.

    Raises:
        ImproperlyConfigured: it can't be parsed, or names several hosts of which some may refuse writes,
            which is right for a standby's only.
    """
    try:
        given = conninfo_to_dict(url)
    except ProgrammingError:
        try:
            return dict(dj_database_url.parse(url, engine=engine))
        except ValueError as error:
            raise ImproperlyConfigured(
                "The address of the database can't be read; give postgresql://USER:PASSWORD@HOST:PORT/NAME."
            ) from error
    has_several = "," in f"{given.get('host')}{given.get('hostaddr')}"
    if has_several and not is_standby and given.get("target_session_attrs") not in _WRITABLE:
        raise ImproperlyConfigured(
            "The address of the database names several hosts, and one may be a standby; Kebab writes: add"
            " target_session_attrs=read-write, or give one address that always leads to the primary."
        )
    names = {"USER": "user", "PASSWORD": "password", "HOST": "host", "NAME": "dbname"}
    config = {name: given.pop(key, "") for name, key in names.items()}
    return {"ENGINE": engine, "PORT": str(given.pop("port", "")).strip(","), **config, "OPTIONS": given}


def check_redis_url(url: str) -> str:
    """Return the URL of a Redis. Raises ImproperlyConfigured for a protocol that Kebab does not speak."""
    scheme = urlsplit(url).scheme
    if scheme not in {"redis", "rediss", "unix", "redis+socket"}:
        raise ImproperlyConfigured(
            f"REDIS_URL begins with {scheme[:20]!r}; give the address of one server, redis:// or rediss://."
            " With Sentinel that is a proxy which leads to the master."
        )
    return url
