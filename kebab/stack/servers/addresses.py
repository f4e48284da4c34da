"""Addresses of the embedded servers: known from the data directory alone, whether they run or not."""

import re
from pathlib import Path
from urllib.parse import parse_qs, quote, urlencode, urlsplit

from kebab.stack.paths import checked_socket_path, runtime_directory
from kebab.stack.servers import secrets

DATABASE_NAME = "kebab"
#: Owns the cluster and the tables.
DATABASE_OWNER = "kebab_owner"
#: What Kebab's processes connect as: it owns nothing, and row-level security holds for it.
DATABASE_APPLICATION = "kebab_app"
#: Postgres names its socket after the port; nothing listens on it.
POSTGRES_PORT = 5432


def postgres_socket_folder(data_dir: Path, runtime_dir: str = "") -> Path:
    """Return the folder of the Postgres socket.

    Raises:
        PathRefused: the socket's path would be longer than 107 bytes.
    """
    folder = runtime_directory(data_dir, runtime_dir) / "pg"
    # The longest name in it is the socket's lock file, which has no limit; the socket's has.
    return checked_socket_path(folder / f".s.PGSQL.{POSTGRES_PORT}").parent


def redis_socket(data_dir: Path, runtime_dir: str = "") -> Path:
    """Return the Redis socket.

    Raises:
        PathRefused: its path would be longer than 107 bytes.
    """
    return checked_socket_path(runtime_directory(data_dir, runtime_dir) / "r.sock")


def database_url(data_dir: Path, runtime_dir: str = "", *, role: str = DATABASE_APPLICATION) -> str:
    """Return the URL of the embedded database for one of its roles, for libpq and dj-database-url alike.

    Raises:
        PathRefused: the socket's path would be longer than 107 bytes.
    """
    folder = str(postgres_socket_folder(data_dir, runtime_dir))
    # urllib lower-cases the host part, so that capitals have to be escaped to survive.
    host = re.sub(r"[^a-z0-9._-]", lambda found: _escaped(found.group()), folder)
    return f"postgresql://{role}@{host}:{POSTGRES_PORT}/{DATABASE_NAME}"


def redis_url(data_dir: Path, runtime_dir: str = "", *, db: int = 0) -> str:
    """Return the URL of the embedded Redis as Celery wants it; `redis_client_url` turns it into redis-py's.

    Raises:
        PathRefused: the socket's path would be longer than 107 bytes, or the secrets cannot be read.
    """
    path = redis_socket(data_dir, runtime_dir)
    password = quote(secrets.load_or_create(data_dir).redis_password, safe="")
    return f"redis+socket://:{password}@{quote(str(path))}?virtual_host={db}"


def redis_client_url(url: str) -> str:
    """Return the same address as redis-py's `from_url` wants it; other URLs are already so."""
    parts = urlsplit(url)
    if parts.scheme != "redis+socket":
        return url
    query = parse_qs(parts.query)
    db = query.get("virtual_host", ["0"])[0]
    return f"unix://{parts.netloc}{parts.path}?{urlencode({'db': db})}"


def _escaped(character: str) -> str:
    return "".join(f"%{byte:02x}" for byte in character.encode())
