"""Checks of external servers and of the web port."""

import errno
import socket
import urllib.error
import urllib.request
from collections.abc import Mapping
from functools import partial
from typing import Any

import psycopg
import redis

from kebab.stack.configuration import StackConfiguration
from kebab.stack.errors import HostUnknown, PortTaken, ServerUnreachable
from kebab.stack.servers.addresses import redis_client_url
from kebab.stack.servers.postgres_requirements import check_sessions
from kebab.tenancy.postgres.pool import connect

_MOST_PORT = 65_535
_LIMIT_S = 5
_SERVES_LIMIT_S = 1


def check_external_servers(configuration: StackConfiguration) -> None:
    """Check that the servers named by `DATABASE_URL` and `REDIS_URL` answer.

    Raises:
        ServerUnreachable: one of them does not answer within five seconds.
        DatabaseUnsuitable: a pooler in front of Postgres keeps no sessions.
    """
    if not configuration.has_embedded_postgres:
        _check_postgres(configuration.database)
    if not configuration.has_embedded_redis:
        _check_redis(configuration.redis_url)


def check_port(host: str, port: int) -> str:
    """Check that the web process can bind its port, and return the numeric address of the host.

    Raises:
        HostUnknown: the host names no address, or the port number is invalid.
        PortTaken: another process listens there, or we lack the permission.
    """
    family, kind, protocol, _, address = _resolve_address(host, port)
    with socket.socket(family, kind, protocol) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(address)
        except OSError as error:
            problem = (
                "is already in use" if error.errno == errno.EADDRINUSE else f"is refused: {error.strerror}"
            )
            raise PortTaken(
                f"{host}:{port} {problem}; stop what listens there, or set KEBAB_PORT to another port."
            ) from error
    return str(address[0])


def _resolve_address(host: str, port: int) -> tuple[int, int, int, str, Any]:
    if not 0 <= port <= _MOST_PORT:
        raise HostUnknown(f"{port} is not a port; set KEBAB_PORT to a number up to {_MOST_PORT}.")
    try:
        return socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    except (socket.gaierror, UnicodeError) as error:  # UnicodeError: the name is invalid
        raise HostUnknown(
            f"{host[:200]!r} names no address of this machine; set KEBAB_HOST to one, such as 127.0.0.1."
        ) from error


def is_serving(url: str) -> bool:
    """Return whether a web server at `url` answers within a second, even with an error page."""
    try:
        with urllib.request.urlopen(f"{url}/healthz", timeout=_SERVES_LIMIT_S):  # noqa: S310 - our own address
            return True
    except urllib.error.HTTPError as answer:
        answer.close()
        return True
    except OSError:
        return False


def _check_postgres(database: Mapping[str, Any]) -> None:
    try:
        check_sessions(partial(connect, database, connect_timeout=_LIMIT_S))
    except psycopg.Error as error:
        raise ServerUnreachable(
            f"Postgres at {database['HOST']}:{database['PORT'] or 5432} doesn't open the database "
            f"{database['NAME']}; check DATABASE_URL. It said: {str(error).strip()}"
        ) from error


def _check_redis(url: str) -> None:
    try:
        with redis.Redis.from_url(redis_client_url(url), socket_timeout=_LIMIT_S) as client:
            client.ping()
    except (redis.RedisError, ValueError) as error:
        raise ServerUnreachable(f"Redis does not answer; check REDIS_URL. It said: {error}") from error
