"""Set-up of the hosts: servers, nodes, a workspace with documents, and people who may read it."""

import contextlib
import json
import re
import secrets
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import httpx

from tests.drills.hosts.database import DatabaseHost
from tests.drills.hosts.lab import SLUG, Lab
from tests.drills.hosts.network import bridges
from tests.drills.hosts.node import Node
from tests.drills.hosts.report import Report
from tests.support.stack import eventually, temporary_directory

#: Lease of a job, in seconds: the delay until another worker takes over.
LEASE_S = 6
_NODES = {"a": 11, "b": 12}
_START_LIMIT_S = 150.0
_SIGN_IN_LIMIT_S = 30
_DOCUMENTS = 20
_EMAIL, _PASSWORD = "ada@example.org", "lantern-harbour-7731"
_TOKEN_FIELD = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')


@contextlib.contextmanager
def running_lab(report: Report) -> Iterator[Lab]:
    """Run the hosts during the block."""
    folder = temporary_directory()
    with contextlib.ExitStack() as endings, bridges():
        endings.callback(shutil.rmtree, folder, ignore_errors=True)
        database = DatabaseHost(folder / "db")
        endings.callback(database.stop)
        database.start()
        nodes = _nodes(folder, database.environment, endings)
        _start(nodes)
        lab = Lab(database=database, a=nodes[0], b=nodes[1], report=report)
        _fill(lab)
        yield lab


def _nodes(folder: Path, servers: Mapping[str, str], endings: contextlib.ExitStack) -> list[Node]:
    blobs = folder / "blobs"
    blobs.mkdir(mode=0o700)
    settings = {**_settings(), **servers}
    nodes = [Node(name, number, folder / name, blobs, settings) for name, number in _NODES.items()]
    for node in nodes:
        for ending in (node.remove, node.host.end, node.stop):
            endings.callback(ending)
    return nodes


def _start(nodes: Sequence[Node]) -> None:
    """Start the nodes at once: one migrates, the other waits for it."""
    for node in nodes:
        node.spawn()
    for node in nodes:
        eventually(lambda node=node: node.is_ready() or node.is_ended, "a node serves", _START_LIMIT_S)
        if node.is_ended:
            raise RuntimeError(node.log("up"))


def _settings() -> dict[str, str]:
    return {
        "KEBAB_EMBEDDER": "hash",
        "KEBAB_SECRET_KEY": secrets.token_hex(32),
        "KEBAB_ENCRYPTION_KEYS": "",
        "KEBAB_WEB_WORKERS": "1",
        "KEBAB_LEASE_S": str(LEASE_S),
        "KEBAB_LEG_LIMIT_MS": "60000",
        "DJANGO_SUPERUSER_EMAIL": _EMAIL,
        "DJANGO_SUPERUSER_PASSWORD": _PASSWORD,
    }


def _fill(lab: Lab) -> None:
    lab.workspace_id = str(lab.b.run_command("workspace", "create", SLUG)["id"])
    result = lab.b.run_command("token", "create", "--workspace", SLUG, "--scope", "search,ingest,ask")
    lab.token = result["token"]
    result = lab.b.run("createsuperuser", "--noinput")
    if result.returncode != 0:
        raise RuntimeError(result.stderr)
    added = json.dumps({"email": _EMAIL, "role": "viewer"})
    lab.b.run_command("api", "POST", f"/workspaces/{SLUG}/members", "--data", added)
    for node in (lab.a, lab.b):
        lab.cookies[node.name] = _sign_in(node)
    for number in range(_DOCUMENTS):
        lab.upload(lab.a, f"first/{number}.md", f"# Pier {number}\n\nThe harbour has a pier{number}.\n")
    seq = lab.upload(lab.b, "first/last.md", "# Last\n\nThe harbour's last.\n")
    for node in (lab.a, lab.b):
        _build_mirror(lab, node, seq)


def _build_mirror(lab: Lab, node: Node, seq: int) -> None:
    found = lab.client(node).ask("lexical", min_seq=seq)
    if not found.is_done:
        raise RuntimeError(f"{found}: {found.body}")


def _sign_in(node: Node) -> dict[str, str]:
    with httpx.Client(base_url=node.url, timeout=_SIGN_IN_LIMIT_S) as http:
        secret = _TOKEN_FIELD.search(http.get("/login").text)
        assert secret is not None
        form = {"username": _EMAIL, "password": _PASSWORD, "csrfmiddlewaretoken": secret[1]}
        answer = http.post("/login", data=form, headers={"Referer": node.url})
        if answer.status_code != 302:
            raise RuntimeError(f"{answer.status_code}: {answer.text[:500]}")
        return dict(http.cookies)
