"""The compose file: no default secrets, addresses, connections, uploads and rights of its containers."""

import ipaddress
import re
from pathlib import Path

import pytest

from tests.acceptance.deploy.servers_by_tcp import DEPLOY
from tests.static.deploy.deploy_files import COMPOSE, KUSTOMIZATIONS, counting_roles, ours, run_check
from tests.static.deploy.kustomize import build, containers


def test_no_secret_has_a_default():
    secrets = re.compile(r"PASSWORD|SECRET_KEY$|ENCRYPTION_KEYS|_API_KEY")
    for service in COMPOSE["services"].values():
        for name, value in service.get("environment", {}).items():
            if secrets.search(name):
                assert re.fullmatch(r"\$\{\w+:\?[^}]+\}", value), (name, value)
    for line in (DEPLOY / "compose" / "env.example").read_text().splitlines():
        assert not line or line.startswith("#") or line.endswith("=")


def test_make_env_creates_all_required_secrets_at_random():
    script = str(DEPLOY / "compose" / "make-env")
    made = [dict(line.split("=", 1) for line in run_check("/bin/sh", script).splitlines()) for _ in range(2)]
    text = (DEPLOY / "compose" / "compose.yaml").read_text()
    assert set(re.findall(r"\$\{(\w+):\?", text)) == made[0].keys()
    assert not set(made[0].values()) & set(made[1].values())
    from cryptography.fernet import Fernet

    Fernet(made[0]["KEBAB_ENCRYPTION_KEYS"])


def test_compose_passes_every_setting_to_kebab_containers_only():
    other = {"path": "kebab.env", "required": False}
    assert {
        name for name, definition in COMPOSE["services"].items() if other in definition.get("env_file", ())
    } == set(ours())


def expand_defaults(value, **environment):
    """Return a value with its defaults expanded as compose does, the innermost first."""
    while True:
        value, count = re.subn(
            r"\$\{(\w+):-([^${}]*)\}", lambda each: environment.get(each[1]) or each[2], value
        )
        if not count:
            return value


@pytest.mark.parametrize("environment", [{}, {"KEBAB_PUBLIC_PORT": "9000"}])
def test_links_lead_to_the_port_that_compose_publishes(environment):
    (published,) = COMPOSE["services"]["proxy"]["ports"]
    address, port, _ = expand_defaults(published, **environment).split(":")
    for name, service in ours().items():
        url = expand_defaults(service["environment"]["KEBAB_URL"], **environment)
        assert url == f"http://{address}:{port}", name


def test_container_addresses_in_compose_are_unique():
    (network,) = COMPOSE["networks"]["inside"]["ipam"]["config"]
    subnet, given = (ipaddress.ip_network(network[name]) for name in ("subnet", "ip_range"))
    attached = [
        definition["networks"]
        for definition in COMPOSE["services"].values()
        if isinstance(definition["networks"], dict)
    ]
    named = [ipaddress.ip_address(each["inside"]["ipv4_address"]) for each in attached]
    assert given.subnet_of(subnet)
    assert len(set(named)) == len(named) == 3
    for address in (*named, ipaddress.ip_address(network["gateway"])):
        assert address in subnet and address not in given, address


def test_compose_and_handbook_count_the_same_connections():
    """Compare the handbook's formula, with the defaults of the settings."""
    page = " ".join((DEPLOY.parent / "docs" / "operations" / "sizing.md").read_text().split())
    settings = (DEPLOY.parent / "kebab" / "settings.py").read_text()
    processes, threads = (
        int(re.search(rf'positive_number\("KEBAB_WEB_{name}", (\d+)\)', settings)[1])
        for name in ("WORKERS", "THREADS")
    )
    process = 7 * threads + 13
    node = processes * process
    assert f"`7 × KEBAB_WEB_THREADS + 13` ({process})" in page and f"`{node} × nodes + 4 × workers" in page
    compose = (DEPLOY / "compose" / "compose.yaml").read_text()
    assert f"may use {node} connections, {process} for each" in compose
    nodes = [name for name, definition in ours().items() if definition["command"] == ["web"]]
    (most,) = re.findall(r"max_connections=(\d+)", compose)
    assert int(most) > node * len(nodes) + 20 * 4 + 3 + 34


def lies_on_disk(service, path):
    """Return whether a container's path lies on one of its volumes, or the image's, rather than in memory."""
    volumes = {Path(each.split(":")[1]) for each in service.get("volumes", ())}
    volumes |= {Path("/data")} if "kebab" in service["image"] else set()
    mounts = volumes | {Path(each) for each in service["tmpfs"]}
    above = [each for each in (path, *path.parents) if each in mounts]
    return bool(above) and above[0] in volumes


@pytest.mark.parametrize("name", ["node-a-web", "node-b-web", "worker", "embedder", "migrate"])
def test_uploads_are_read_from_a_disk(name):
    service = COMPOSE["services"][name]
    assert lies_on_disk(service, Path(service["environment"].get("TMPDIR", "/tmp")))  # noqa: S108 - its default
    assert "VOLUME /data\n" in (DEPLOY / "image" / "Containerfile").read_text()


def test_container_start_creates_its_temporary_folder_and_deletes_old_uploads(tmp_path):
    kebab, folder = tmp_path / "kebab", tmp_path / "made" / "tmp"
    kebab.write_text('#!/bin/sh\necho "$@"\n')
    kebab.chmod(0o755)
    definition = {
        "PATH": f"{tmp_path}:/usr/bin:/bin",
        "DATABASE_URL": "x",
        "REDIS_URL": "x",
        "TMPDIR": str(folder),
    }
    command = ["/bin/sh", str(DEPLOY / "image" / "entrypoint.sh"), "web"]
    assert run_check(*command, env=definition) == "web\n"
    (folder / "tmpabc.upload.zip").touch()
    (folder / "kept").touch()
    run_check(*command, env=definition)
    assert {each.name for each in folder.iterdir()} == {"kept", "kebab-role"}


def test_containers_drop_capabilities_and_have_limits():
    for name, definition in COMPOSE["services"].items():
        if name == "postgres":
            continue
        assert definition["read_only"] and definition["cap_drop"] == ["ALL"], name
        assert "no-new-privileges:true" in definition["security_opt"], name
    for folder in KUSTOMIZATIONS:
        for manifest in build(folder):
            for container in containers(manifest):
                rights = container["securityContext"]
                assert rights["readOnlyRootFilesystem"] and rights["capabilities"] == {"drop": ["ALL"]}
                assert rights["allowPrivilegeEscalation"] is False
                pod = manifest["spec"]["template"]["spec"]
                assert pod["securityContext"]["runAsNonRoot"]
                assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
                assert (
                    container["resources"]["limits"]["memory"] and container["resources"]["requests"]["cpu"]
                )


def test_services_without_a_web_process_expose_their_metrics_port():
    def data(service):
        return {each for each in service.get("volumes", ()) if each.endswith(":/data")}

    web = {
        each
        for definition in ours().values()
        if definition["command"] == ["web"]
        for each in data(definition)
    }
    apart = {
        name: definition
        for name, definition in ours().items()
        if definition["command"][0] in counting_roles() and not data(definition) & web
    }
    assert apart.keys() == {"worker", "embedder", "beat"}
    for name, definition in apart.items():
        assert definition["expose"] == [definition["environment"]["KEBAB_METRICS_PORT"]], name
