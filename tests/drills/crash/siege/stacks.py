"""Stacks for sieges: one with embedded servers, and a node that reaches its servers by TCP."""

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from urllib.parse import quote

from kebab.stack.paths import DataDirectory
from kebab.stack.servers import addresses, secrets
from kebab.stack.servers.postgres import EmbeddedPostgres
from kebab.stack.servers.redis import EmbeddedRedis
from tests.drills.crash.options import Options
from tests.drills.crash.proxy import Proxy
from tests.support.stack import Stack, temporary_directory


@contextmanager
def own_servers(options: Options) -> Iterator[Stack]:
    """Run a stack with embedded servers."""
    with _running(Stack(options.keep or temporary_directory(), **_settings(options)), options) as stack:
        yield stack


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxiedNode:
    """A node, its servers, and the proxies between them."""

    stack: Stack
    servers: Stack
    postgres: Proxy
    redis: Proxy


@contextmanager
def servers_behind_proxies(options: Options, **environment: str) -> Iterator[ProxiedNode]:
    """Run a node that reaches its servers only through proxies; `environment` is added to the node's."""
    servers = Stack(temporary_directory())
    data_dir = servers.data_dir
    with ExitStack() as open_:
        open_.callback(servers.remove)
        DataDirectory(data_dir).ensure()
        postgres = open_.enter_context(EmbeddedPostgres(data_dir))
        open_.enter_context(EmbeddedRedis(data_dir))
        postgres.set_up()
        port = addresses.POSTGRES_PORT
        socket = addresses.postgres_socket_folder(data_dir) / f".s.PGSQL.{port}"
        to_postgres = open_.enter_context(Proxy(socket))
        to_redis = open_.enter_context(Proxy(addresses.redis_socket(data_dir)))
        more = {**_external(servers, to_postgres.port, to_redis.port), **environment}
        node = Stack(temporary_directory(), **_settings(options), **more)
        stack = open_.enter_context(_running(node, options))
        yield ProxiedNode(stack=stack, servers=servers, postgres=to_postgres, redis=to_redis)


@contextmanager
def _running(stack: Stack, options: Options) -> Iterator[Stack]:
    try:
        stack.up()
        yield stack
    finally:
        stack.stop()
        if options.keep is None:
            stack.remove()


def _settings(options: Options) -> dict[str, str]:
    return {
        "KEBAB_EMBEDDER": "hash",
        "KEBAB_NODE_ID": "drill",
        "KEBAB_LEASE_S": str(options.lease_s),
        "KEBAB_WITHOUT": ",".join(options.without),
        # The folders of the drill's editors.
        "KEBAB_FOLDER_ROOTS": tempfile.gettempdir(),
        # Lexical results must not be dropped merely because the machine is busy.
        "KEBAB_LEG_LIMIT_MS": "60000",
    }


def _external(servers: Stack, postgres_port: int, redis_port: int) -> dict[str, str]:
    server_secrets = secrets.load_or_create(servers.data_dir)
    place = f"127.0.0.1:{postgres_port}/{addresses.DATABASE_NAME}"
    return {
        "DATABASE_URL": f"postgresql://{addresses.DATABASE_APPLICATION}@{place}",
        "KEBAB_OWNER_DATABASE_URL": f"postgresql://{addresses.DATABASE_OWNER}@{place}",
        "REDIS_URL": f"redis://:{quote(server_secrets.redis_password, safe='')}@127.0.0.1:{redis_port}/0",
        "KEBAB_SECRET_KEY": server_secrets.secret_key,
        "KEBAB_ENCRYPTION_KEYS": server_secrets.encryption_key,
    }
