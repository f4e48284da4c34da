"""The image's processes, on servers with two roles, behind HAProxy with our configuration."""

import json
import re
import signal
import threading
from secrets import token_hex

import httpx
import psycopg
import pytest

from tests.acceptance.client import Client
from tests.acceptance.deploy.servers_by_tcp import APP_PASSWORD
from tests.acceptance.deploy.site import Proxy
from tests.support.stack import eventually, free_port

pytestmark = pytest.mark.slow


def node_of(site, slug):
    """Return the node that answers for a workspace."""
    return site.node_for(f"/api/v1/workspaces/{slug}/search")


def other(node):
    return {"node-a": "node-b", "node-b": "node-a"}[node]


def test_processes_started_before_the_migrations_wait_and_then_serve(site):
    for part in (site.web("node-a"), site.part("worker", "worker")):
        assert part.has_logged("The database is ready; starting.")
        assert part.is_running()


def test_requests_of_one_workspace_go_to_one_node(site):
    nodes = site.routes()
    assert site.routes() == nodes
    assert [site.node_for(f"/api/v1/workspaces/w{n}/search") for n in range(len(nodes))] == nodes
    assert set(nodes) == {"node-a", "node-b"}


def test_pages_are_served_with_their_styles(site):
    page = httpx.get(f"{site.proxy.url}/login", timeout=60)
    style = re.search(r'href="(/static/[^"]+\.css[^"]*)"', page.text)
    assert page.status_code == 200
    assert httpx.get(f"{site.proxy.url}{style[1]}", timeout=60).status_code == 200


def test_mcp_calls_with_one_token_go_to_one_node(site):
    def nodes(secret):
        tokens = (f"Bearer kbb_prefix{n}_{secret}" for n in range(16))
        return [site.node_for("/mcp", Authorization=token) for token in tokens]

    assert nodes("one") == nodes("another")
    assert set(nodes("one")) == {"node-a", "node-b"}


def test_document_is_found_at_once_through_the_proxy(client):
    written = client.upload("heron.md", "# Heron\n\nA heron waits.\n", wait_for="searchable")
    found = client.search("heron", mode="lexical", min_seq=written["seq"])
    assert found["hits"][0]["doc_path"] == "heron.md"


def test_next_node_answers_for_a_dead_one_until_it_returns(site, client):
    written = client.upload("plover.md", "# Plover\n\nA plover runs.\n", wait_for="searchable")
    first = node_of(site, client.slug)
    with site.restart_after(first):
        site.web(first).kill()
        for _ in range(10):
            found = client.search("plover", mode="lexical", min_seq=written["seq"])
            assert found["hits"][0]["doc_path"] == "plover.md"
        assert node_of(site, client.slug) == other(first)
    assert node_of(site, client.slug) == first


def test_events_pass_the_proxy_without_buffering(site, client):
    worker = site.part("worker", "worker")
    worker.kill()
    try:
        job = client.upload("egret.md", "# Egret\n\nAn egret.\n")["job"]["id"]
        events = client.events(job)
        name, data = next(events)
        assert (name, data["state"]) == ("progress", "queued")
    finally:
        worker.start()
    assert [data["state"] for _, data in events][-1] == "succeeded"


class Busy:
    """Clients that upload and search continuously, each request on a connection of its own."""

    def __init__(self, url, tokens):
        self._url, self._tokens = url, tokens
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(slug,)) for slug in tokens]
        self.failures, self.count = [], 0

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _run(self, slug):
        number = 0
        while not self._stop.is_set():
            number += 1
            self._ask(slug, "documents", {"path": f"busy{number % 5}.md", "text": f"# Busy\n\n{number}\n"})
            self._ask(slug, "search", {"q": "busy"})

    def _ask(self, slug, what, body):
        headers = {"Authorization": f"Bearer {self._tokens[slug]}", "Connection": "close"}
        url = f"{self._url}/api/v1/workspaces/{slug}/{what}"
        try:
            status = httpx.post(url, json=body, headers=headers, timeout=60).status_code
        except httpx.HTTPError as error:
            status = repr(error)
        self.count += 1
        if status not in (200, 202):
            self.failures.append((what, status))


def test_draining_node_loses_no_request(site, client, tokens):
    first = node_of(site, client.slug)
    web = site.web(first)
    with site.restart_after(first), Busy(site.proxy.url, tokens) as busy:
        eventually(lambda: busy.count > 20, "clients are busy", 60)
        web.ask_to_stop()
        # A single process ends by the signal after its last answer; several exit with 0.
        assert web.wait() in (0, -signal.SIGTERM)
        before = busy.count
        eventually(lambda: busy.count > before + 20, "clients are busy with the other node", 60)
    assert busy.failures == []


def test_proxy_without_nodes_answers_503_with_retry_after(site, client):
    with site.restart_after("node-a", "node-b"):
        for node in ("node-a", "node-b"):
            site.web(node).kill()
        answer = client.request("POST", "/search", json={"q": "heron"})
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "2")
        assert answer.json()["code"] == "no_node"
    assert client.request("GET", "/jobs").status_code == 200


def test_metrics_are_not_public_and_logs_omit_secrets_of_links(site):
    assert httpx.get(f"{site.proxy.url}/metrics").status_code == 404
    assert httpx.get(f"{site.proxy.url}/%6detrics").status_code == 404
    httpx.get(f"{site.proxy.url}/invitations/very-secret")
    httpx.get(f"{site.proxy.url}/api/v1/workspaces/alpha/search?q=confidential")
    assert "very-secret" not in site.proxy.log()
    assert "confidential" not in site.proxy.log()


def test_pages_behind_a_tls_balancer_are_not_redirected_endlessly(site):
    port = free_port()
    web = site.part("tls-web", "web", KEBAB_HTTPS="1", KEBAB_PORT=str(port))
    proxies = [
        Proxy(site.folder / f"proxy-{name}", site.haproxy, [f"127.0.0.1:{port}"], balancers=believed)
        for name, believed in (("believes", ("127.0.0.1",)), ("doubts", ()))
    ]

    def statuses(**headers):
        try:
            return [httpx.get(proxy.url, headers=headers, timeout=60).status_code for proxy in proxies]
        except httpx.HTTPError:
            return []

    try:
        for part in (web, *proxies):
            part.start()
        eventually(lambda: statuses() == [301, 301], "what came without TLS is sent to it", 120, poll_s=0.5)
        believed, doubted = statuses(**{"X-Forwarded-Proto": "https"})
        assert (believed != 301, doubted) == (True, 301)
        assert believed < 500
    finally:
        web.kill()
        for proxy in proxies:
            proxy.stop()


def test_application_role_owns_nothing(site):
    url = site.postgres.url("kebab_app", APP_PASSWORD)
    with psycopg.connect(url) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute("CREATE TABLE mine (id int)")
    doctor = site.part("worker", "worker").run("doctor", "--json")
    checks = {each["name"]: each for each in json.loads(doctor.stdout)["checks"]}
    assert checks["row-level security"]["status"] == "ok"


@pytest.mark.parametrize("role", ["worker", "web"])
def test_process_without_the_shared_blobs_refuses_to_start(site, role):
    stray = site.part(f"stray-{role}", role, KEBAB_BLOBS_URL=f"file://{site.folder / 'elsewhere'}")
    refused = stray.run(role)
    assert refused.returncode == 2
    assert "KEBAB_BLOBS_URL" in refused.stderr


def test_health_check_fails_for_a_dead_process(site):
    web, worker = site.web("node-b"), site.part("worker", "worker")
    assert web.run("healthcheck").returncode == 0
    assert worker.run("healthcheck").returncode == 0
    with site.restart_after("node-b"):
        web.kill()
        assert web.run("healthcheck").returncode != 0


def test_status_lists_unsupervised_processes(site):
    wanted = {("node-a", "web"), ("node-a", "mirror"), ("node-b", "web"), ("worker", "worker")}

    def are_listed():
        listing = json.loads(site.part("worker", "worker").run("status", "--json").stdout)
        rows = {(row["node"], row["role"]) for row in listing["processes"] if row["is_alive"]}
        return listing["is_running"] and wanted <= rows

    eventually(are_listed, "all are listed", 120, poll_s=1)


def test_part_without_servers_reports_the_missing_settings(site):
    part = site.part("lonely", "web", DATABASE_URL="")
    refused = part.run("web")
    assert refused.returncode == 2
    assert "DATABASE_URL" in refused.stderr


def test_database_password_is_replaced_without_downtime(site, tokens):
    """Follow docs/operations/rotate.md: create a second role, and restart one process after the other."""
    role = f"kebab_app_{token_hex(4)}"  # another one if the test is run again
    with psycopg.connect(site.postgres.superuser(), autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {role} LOGIN NOSUPERUSER NOBYPASSRLS PASSWORD 'second'")
        connection.execute(f"GRANT CONNECT, TEMPORARY ON DATABASE kebab TO {role}")
    fresh = {"DATABASE_URL": site.postgres.url(role, "second")}
    migration = site.part("second", "migrate", **site.as_owner(), **fresh)
    assert migration.run("migrate").returncode == 0
    with Busy(site.proxy.url, tokens) as busy:
        for node in ("node-a", "node-b"):
            web = site.web(node)
            web.environment.update(fresh)
            web.ask_to_stop()
            web.wait()
            web.start()
            eventually(lambda node=node: site.is_ready(node), f"{node} is ready", 120)
    assert busy.failures == []
    for part in site.parts.values():
        if part.is_running() and part.environment["DATABASE_URL"] != fresh["DATABASE_URL"]:
            part.environment.update(fresh)
            part.ask_to_stop()
            part.wait()
            part.start()
    slug, token = next(iter(tokens.items()))
    speaking = Client(site.proxy.url, slug, token)
    speaking.upload("rotated.md", "# Rotated\n\nAn avocet.\n", wait_for="searchable")
    speaking.close()
