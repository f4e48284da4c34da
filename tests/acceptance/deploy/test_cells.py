"""HAProxy in front of cells, and a workspace that moves from one to the other under load."""

import json
import os
import re
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest

from tests.acceptance.client import Client
from tests.acceptance.deploy.named_node import NamedNode
from tests.acceptance.deploy.servers_by_tcp import DEPLOY, find_program
from tests.acceptance.deploy.site import Proxy
from tests.support.stack import Stack, eventually, free_port, temporary_directory

pytestmark = pytest.mark.slow

A, B = "a.example.org", "b.example.org"
HERONS = 6
QUERIES = ("heron", "wader reeds", "tide lagoon", "the heron waits", "nothing")


class Cells:
    """HAProxy with deploy/proxy/cells.cfg before two cells, with its map and its runtime socket."""

    def __init__(self, folder: Path, first: str, second: str) -> None:
        self.url = f"http://127.0.0.1:{free_port()}"
        self.map, self.log = folder / "cells.map", folder / "cells.log"
        self.map.touch()
        self._environment = {
            "PATH": os.environ["PATH"],
            "KEBAB_LISTEN": self.url.removeprefix("http://"),
            "KEBAB_CELLS": str(self.map),
            "KEBAB_RUNTIME": str(folder / "cells.sock"),
            "KEBAB_CELL_A": A,
            "KEBAB_CELL_A_PROXY": first,
            "KEBAB_CELL_B": B,
            "KEBAB_CELL_B_PROXY": second,
        }
        program = find_program("haproxy", "install Debian's haproxy", pytest.skip)
        find_program("socat", "install Debian's socat", pytest.skip)
        command = [program, "-db", "-f", str(DEPLOY / "proxy" / "cells.cfg")]
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(command, env=self._environment, stdout=log, stderr=log)
        eventually(lambda: self.get("/router/healthz") == 200, "HAProxy answers")

    def get(self, path: str) -> int:
        """Return the status of a GET; 0 without a connection."""
        try:
            return httpx.get(self.url + path, timeout=30).status_code
        except httpx.TransportError:
            return 0

    def load(self, place: str, *keys: str) -> None:
        """Place names of a workspace in the map, and load it."""
        self.map.write_text("# names and cells\n\n" + "".join(f"{key}   {place}\n" for key in keys))
        script = str(DEPLOY / "proxy" / "load-cells")
        subprocess.run([script], env=self._environment, check=True, timeout=30)

    def count_writes(self) -> int:
        """Return the number of requests that are writing now."""
        with socket.socket(socket.AF_UNIX) as runtime:
            runtime.connect(self._environment["KEBAB_RUNTIME"])
            runtime.sendall(b"show table writes\n")
            shown = b"".join(iter(lambda: runtime.recv(65536), b"")).decode()
        return sum(map(int, re.findall(r"conn_cur=(\d+)", shown)))

    def stop(self) -> None:
        """Stop it."""
        self._process.terminate()
        self._process.wait(30)


@pytest.fixture
def named_cells(tmp_path) -> Iterator[httpx.Client]:
    """Yield a client of two cells that answer with their names, with its `cells`."""
    nodes = [NamedNode(A), NamedNode(B)]
    cells = Cells(tmp_path, *(f"127.0.0.1:{node.server_port}" for node in nodes))
    try:
        with httpx.Client(base_url=cells.url, timeout=30) as client:
            client.cells, client.nodes = cells, nodes
            yield client
    finally:
        cells.stop()
        for node in nodes:
            node.gate.set()
            node.end()


TOKEN = {"Authorization": "Bearer kbb_abcdefghijkl_x_y"}


@pytest.mark.parametrize(
    ("method", "path", "headers", "cell"),
    [
        ("POST", "/api/v1/workspaces/beta/documents", {}, B),
        ("GET", "/api/v1/workspaces/beta", {"Host": A}, B),
        ("GET", "/api/v1/%77orkspaces/bet%61/search", {}, B),
        ("POST", "/api/v1/workspaces/alpha/search", {"Host": B}, A),
        ("GET", "/w/beta/", {"Host": B}, B),
        ("GET", "/w/alpha/", {"Host": f"{A}:443"}, A),
        ("POST", "/mcp", TOKEN, B),
        ("POST", "/mcp", {"Authorization": "Bearer kbb_zzzzzzzzzzzz_beta"}, A),
        ("POST", "/api/v1/search", {"Authorization": "Bearer kbp_abcdefghijkl_x", "Host": B}, B),
        ("GET", "/login", {"Host": B}, B),
        ("GET", "/admin/", {"Host": "writes"}, A),
        ("GET", "/", {}, A),
    ],
)
def test_request_goes_to_the_cell_of_its_workspace(named_cells, method, path, headers, cell):
    named_cells.cells.load(B, "beta", "kbb_abcdefghijkl")
    assert named_cells.request(method, path, headers=headers).text == cell


def test_pages_are_redirected_to_the_name_of_their_cell(named_cells):
    named_cells.cells.load(B, "beta")
    answer = named_cells.get("/w/beta/search?q=a%20b", headers={"Host": A})
    assert (answer.status_code, answer.headers["location"]) == (307, f"https://{B}/w/beta/search?q=a%20b")


def test_workspace_that_moves_is_read_and_not_written(named_cells):
    named_cells.cells.load(f"{A}/read-only", "beta", "kbb_abcdefghijkl")
    below = "/api/v1/workspaces/beta"
    read = [("POST", f"{below}/search"), ("POST", f"{below}/ask"), ("GET", f"{below}/documents")]
    written = [("POST", f"{below}/documents"), ("PATCH", f"{below}/sources/search"), ("DELETE", below)]
    assert [named_cells.request(*each).text for each in read] == [A, A, A]
    assert named_cells.post("/mcp", headers=TOKEN).text == A
    refused = [named_cells.request(*each) for each in written]
    refused.append(named_cells.post("/api/v1/openai/files", headers=TOKEN))
    assert {(each.status_code, each.json()["code"]) for each in refused} == {(503, "workspace_moving")}
    assert named_cells.post("/api/v1/workspaces/gamma/documents").text == A
    assert named_cells.cells.count_writes() == 0


def test_write_in_progress_is_counted_until_it_is_answered(named_cells):
    node, cells = named_cells.nodes[0], named_cells.cells
    node.gate.clear()
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(named_cells.post, "/api/v1/workspaces/beta/documents")
        eventually(lambda: cells.count_writes() == 1, "it is counted")
        cells.load(f"{A}/read-only", "beta")
        assert named_cells.post("/api/v1/workspaces/beta/documents").status_code == 503
        assert cells.count_writes() == 1
        node.gate.set()
        assert answer.result().text == A
    eventually(lambda: cells.count_writes() == 0, "it has ended")


@pytest.fixture(scope="module")
def installations() -> Iterator[SimpleNamespace]:
    """Run two stacks, each behind its proxy, and the proxy of the cells."""
    haproxy = find_program("haproxy", "install Debian's haproxy", pytest.skip)
    folder = temporary_directory()
    settings = {"KEBAB_EMBEDDER": "hash", "KEBAB_WEB_WORKERS": "1"}
    stacks = [Stack(folder / name, **settings) for name in "ab"]
    proxies = [
        Proxy(folder / f"proxy-{stack.data_dir.name}", haproxy, [stack.url.removeprefix("http://")])
        for stack in stacks
    ]
    running: list[object] = []
    try:
        for each in (*stacks, *proxies):
            running.append(each)
            each.up() if isinstance(each, Stack) else each.start()
        cells = Cells(folder, *(proxy.url.removeprefix("http://") for proxy in proxies))
        running.append(cells)
        yield SimpleNamespace(old=stacks[0], new=stacks[1], cells=cells, folder=folder)
    finally:
        for each in reversed(running):
            each.stop()
        for stack in stacks:
            stack.remove()
        shutil.rmtree(folder, ignore_errors=True)


class Load:
    """A writer and a searcher of one workspace, which go on until the block ends."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._ends = threading.Event()
        self._threads = [threading.Thread(target=each) for each in (self._write, self._search)]
        self.acknowledged, self.found, self.failures = [], 0, []

    def __enter__(self) -> "Load":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        for thread in self._threads:
            thread.join()

    def _write(self) -> None:
        number = 0
        while not self._ends.is_set():
            path = f"written/{number}.md"
            body = {"path": path, "text": f"# Note {number}\n\nA curlew calls.\n"}
            answer = self._client.request("POST", "/documents", params={"wait_for": "searchable"}, json=body)
            if answer.status_code in (201, 202):
                self.acknowledged.append(path)
                number += 1
            elif answer.json()["code"] == "workspace_moving":
                self._ends.wait(0.2)
            else:
                self.failures.append(answer.text)

    def _search(self) -> None:
        while not self._ends.is_set():
            answer = self._client.request("POST", "/search", json={"q": "heron", "mode": "lexical"})
            if answer.status_code == 200 and len(answer.json()["hits"]) == HERONS:
                self.found += 1
            else:
                self.failures.append(answer.text)

    def await_progress(self) -> None:
        """Wait until a few more searches were answered, and documents acknowledged."""
        found, acknowledged = self.found, len(self.acknowledged)
        eventually(
            lambda: self.failures or (self.found > found + 3 and len(self.acknowledged) > acknowledged + 3),
            "the clients go on",
        )


def hits_of(client):
    pages = [client.search(query, mode="lexical", k=50)["hits"] for query in QUERIES]
    return [[(hit["chunk_id"], hit["doc_id"], hit["score"]) for hit in page] for page in pages]


def paths_of(client):
    after, paths = {}, []
    while after is not None:
        page = client.get("/documents", limit=100, **after)
        paths += [row["path"] for row in page["results"]]
        after = {"cursor": page["next_cursor"]} if page["next_cursor"] else None
    return paths


def test_workspace_moves_under_load_with_its_ids_and_loses_nothing(installations):
    old, new, cells, folder = (getattr(installations, name) for name in ("old", "new", "cells", "folder"))
    made = old.run_command("workspace", "create", "beta")
    token = old.run_command("token", "create", "-w", "beta", "--scope", "search,ingest")["token"]
    names = ("beta", made["id"], token[: len("kbb_abcdefghijkl")])
    bundle, access = str(folder / "beta.kebab"), str(folder / "beta.json")
    client = Client(cells.url, "beta", token)
    for number in range(4 * HERONS):
        words = " ".join(("heron", "wader", "reeds", "tide", "lagoon")[number % 4 :])
        client.upload(f"bird{number}.md", f"# Bird {number}\n\nThe {words} waits {number}.\n")
    eventually(lambda: not open_jobs(client), "all is found")

    with Load(client) as load:
        load.await_progress()
        cells.load(f"{A}/read-only", *names)
        eventually(lambda: not cells.count_writes() and not open_jobs(client), "nothing is written")
        before = hits_of(client)
        exported = old.run_command("export", bundle, "-w", "beta", "--access", access)
        imported = new.run_command("import", bundle, "-w", "beta", "--access", access)
        (row,) = old.run_command("list", "workspaces")["results"]
        assert (row["seq"], imported["id"]) == (exported["seq"], made["id"])
        moved = client.at(new.url)
        after = hits_of(moved)
        cells.load(B, *names)
        load.await_progress()
    eventually(lambda: not open_jobs(client), "all is found")

    assert load.failures == []
    assert [[hit[:2] for hit in page] for page in after] == [[hit[:2] for hit in page] for page in before]
    scores = [[hit[2] for page in found for hit in page] for found in (after, before)]
    assert scores[0] == pytest.approx(scores[1], abs=1e-9) and len(scores[0]) > 50
    assert set(load.acknowledged) <= set(paths_of(client))
    assert len(paths_of(moved)) == 4 * HERONS + len(load.acknowledged)
    assert json.loads(Path(access).read_text())["tokens"][0]["prefix"] in token
    assert Path(access).stat().st_mode & 0o77 == 0
    for each in (client, moved):
        each.close()


def open_jobs(client):
    jobs = client.get("/jobs", limit=100)["results"]
    return [job for job in jobs if job["state"] in {"queued", "running"}]
