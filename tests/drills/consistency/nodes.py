"""Two nodes on one machine: a whole stack, and web and mirror processes of a second node on its servers."""

import contextlib
from collections.abc import Iterator

from kebab.stack.paths import DataDirectory
from kebab.stack.servers import addresses, secrets
from tests.support.stack import Stack, eventually, temporary_directory

_SETTINGS = {
    "KEBAB_EMBEDDER": "hash",
    "KEBAB_WEB_WORKERS": "1",
    # No leg may be dropped from a search merely because the machine is busy.
    "KEBAB_LEG_LIMIT_MS": "60000",
}
_BESIDE = ("web", "mirror")
_STOP_LIMIT_S = 60


@contextlib.contextmanager
def two_nodes() -> Iterator[tuple[Stack, Stack]]:
    """Run both nodes during the block."""
    first = Stack(temporary_directory(), KEBAB_NODE_ID="node-a", **_SETTINGS)
    with contextlib.ExitStack() as endings:
        endings.callback(first.remove)
        endings.callback(first.stop)
        first.up()
        second = Stack(temporary_directory(), KEBAB_NODE_ID="node-b", **_SETTINGS, **_servers_of(first))
        endings.callback(second.remove)
        # As on several hosts: the other node's workers read what one node stores.
        DataDirectory(second.data_dir).blobs.symlink_to(DataDirectory(first.data_dir).blobs)
        for command in _BESIDE:
            endings.enter_context(_run_process(second, command))
        eventually(second.answers, "the second node serves")
        yield first, second


def _servers_of(first: Stack) -> dict[str, str]:
    return {
        "KEBAB_SECRET_KEY": secrets.load_or_create(first.data_dir).secret_key,
        "DATABASE_URL": addresses.database_url(first.data_dir),
        "REDIS_URL": addresses.redis_url(first.data_dir),
    }


@contextlib.contextmanager
def _run_process(node: Stack, command: str) -> Iterator[None]:
    logs = DataDirectory(node.data_dir).logs
    logs.mkdir(parents=True, exist_ok=True)
    with (logs / f"{command}.log").open("ab") as log:
        process = node.start(command, stdout=log, stderr=log)
    try:
        yield
    finally:
        process.terminate()
        process.wait(_STOP_LIMIT_S)
