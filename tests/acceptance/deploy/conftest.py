"""One site for all tests of this folder."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.acceptance.client import Client
from tests.acceptance.deploy.servers_by_tcp import find_program
from tests.acceptance.deploy.site import Site
from tests.support.stack import eventually, temporary_directory

_NODES = ("node-a", "node-b")
_WORKSPACES = ("alpha", "beta", "gamma")
_MAKE = """
import io, json, sys
from kebab.cli.main import run
for slug in {slugs!r}:
    assert run(["workspace", "create", slug], io.StringIO(), sys.stderr) == 0
    made = io.StringIO()
    run(["token", "create", "--workspace", slug, "--scope", "search,ingest", "--json"], made, sys.stderr)
    print(json.dumps([slug, json.loads(made.getvalue())["token"]]))
"""


@pytest.fixture(scope="package")
def site() -> Iterator[Site]:
    """Run a site, whose processes were started before its database was migrated, and waited."""
    running = Site(temporary_directory(), find_program("haproxy", "install Debian's haproxy", pytest.skip))
    try:
        running.start_servers()
        _start(running)
        yield running
    finally:
        running.stop()
        shutil.rmtree(running.folder, ignore_errors=True)


def _start(site: Site) -> None:
    early = [site.web("node-a"), site.part("worker", "worker", **site.as_owner())]
    for part in early:
        part.start()
    for part in early:
        eventually(
            lambda part=part: part.has_logged("Waiting: the database isn't prepared yet"),
            f"{part.role} waits",
            120,
        )
    migrated = site.migration().run("migrate")
    assert migrated.returncode == 0, migrated.stderr
    late = [site.web("node-b"), *map(site.mirror, _NODES), site.part("beat", "beat")]
    for part in late:
        part.start()
    for node in _NODES:
        eventually(lambda node=node: site.is_ready(node), f"{node} is ready", 120)
    site.proxy.start()
    eventually(lambda: set(site.routes()) == set(_NODES), "both nodes are asked", 60, poll_s=0.5)


@pytest.fixture(scope="package")
def tokens(site: Site) -> dict[str, str]:
    """Create workspaces, and return a token of each."""
    environment = {**site.migration().environment, "DJANGO_SETTINGS_MODULE": "kebab.settings"}
    command = [sys.executable, "-c", _MAKE.format(slugs=_WORKSPACES)]
    result = subprocess.run(
        command,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
        cwd=site.application,
    )
    return dict(json.loads(line) for line in result.stdout.splitlines())


@pytest.fixture(params=_WORKSPACES[:1])
def client(site: Site, tokens: dict[str, str], request: pytest.FixtureRequest) -> Iterator[Client]:
    """Yield a client of the site's first workspace, through the proxy."""
    first_client = Client(site.proxy.url, request.param, tokens[request.param])
    yield first_client
    first_client.close()
