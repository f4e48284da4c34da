"""The files of deploy/, checked by their own programs; each test is skipped without its program."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.acceptance.deploy.servers_by_tcp import DEPLOY, find_program
from tests.static.deploy.deploy_files import KUBERNETES, KUSTOMIZATIONS, counting_roles, ours, run_check
from tests.static.deploy.kustomize import build, containers
from tests.support.image_files import IGNORED, Ignored, make_application

LINTERS = "install deploy/requirements-linters.txt in an environment whose bin folder is on the PATH"
SCRIPTS = [
    *sorted((DEPLOY / "image").glob("*.sh")),
    DEPLOY / "compose" / "make-env",
    DEPLOY / "compose" / "make-roles.sh",
    DEPLOY / "cluster" / "fill",
    DEPLOY / "proxy" / "load-cells",
    DEPLOY / "make-venv",
]
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
IMAGE_ROLES = {"web", "worker", "embedder", "beat", "mirror", "watch", "migrate", "mcp"}

CELLS = {
    "KEBAB_CELL_A": "a.example.org",
    "KEBAB_CELL_A_PROXY": "10.0.0.11:8080",
    "KEBAB_CELL_B": "b.example.org",
    "KEBAB_CELL_B_PROXY": "10.0.0.21:8080",
    "KEBAB_CELLS": "cells.map",
    "KEBAB_RUNTIME": "/run/kebab-cells.sock",
}


def program(name, remedy=LINTERS):
    return find_program(name, remedy, pytest.skip)


def test_the_build_file_has_nothing_that_a_linter_finds():
    run_check(program("hadolint"), str(DEPLOY / "image" / "Containerfile"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_scripts_have_nothing_that_a_linter_finds(script):
    run_check(program("shellcheck", "install Debian's shellcheck"), str(script))
    assert script.stat().st_mode & 0o111


def test_the_compose_file_fits_its_schema():
    file = str(DEPLOY / "compose" / "compose.yaml")
    run_check(program("check-jsonschema"), "--builtin-schema", "vendor.compose-spec", file)


@pytest.mark.parametrize("folder", KUSTOMIZATIONS, ids=lambda path: path.name)
def test_manifests_fit_kubernetes_schemas(folder, tmp_path):
    validate = program("kubernetes-validate")
    known = [each for each in build(folder) if each["apiVersion"] != "keda.sh/v1alpha1"]
    file = tmp_path / "manifests.yaml"
    file.write_text(yaml.safe_dump_all(known))
    run_check(validate, "--strict", str(file))


def test_the_autoscaler_without_keda_fits_the_schemas():
    file = KUBERNETES / "components" / "autoscaling-hpa" / "scaling.yaml"
    run_check(program("kubernetes-validate"), "--strict", str(file))


def kustomize():
    """Return the command that builds a folder: kustomize itself, or kubectl, which contains it."""
    if shutil.which("kustomize"):
        return program("kustomize"), "build"
    return program("kubectl", "put kustomize or kubectl on the PATH"), "kustomize"


def images(manifest):
    return [each["image"] for each in containers(manifest)]


@pytest.mark.parametrize("folder", KUSTOMIZATIONS, ids=lambda path: path.name)
def test_manifests_are_what_kustomize_makes_of_them(folder):
    built = run_check(*kustomize(), str(folder))

    def images_and_replicas(manifests):
        return {
            (each["kind"], re.sub(r"-[a-z0-9]{10}$", "", each["metadata"]["name"])): (
                images(each),
                each.get("spec", {}).get("replicas"),
            )
            for each in manifests
        }

    assert images_and_replicas(yaml.safe_load_all(built)) == images_and_replicas(build(folder))


def test_an_overlay_names_the_image_that_all_containers_of_ours_run():
    ran = [image for each in build(KUBERNETES / "overlays" / "example") for image in images(each)]
    assert {image for image in ran if "kebab" in image} == {"registry.example.org/kebab:0.3.0"}
    assert len([image for image in ran if "kebab" in image]) == 6


@pytest.mark.parametrize(
    ("file", "environment"),
    [
        ("kubernetes/base/haproxy.cfg", {"NODES_NAMESPACE": "kebab"}),
        ("proxy/haproxy.cfg", {"KEBAB_LISTEN": ":8080"}),
        ("proxy/haproxy.cfg", {"KEBAB_LISTEN": ":8080", "KEBAB_BALANCER": "10.0.0.5 10.0.1.0/24"}),
        ("proxy/haproxy.cfg", {"KEBAB_CERTIFICATE": "site.pem"}),
        ("proxy/cells.cfg", {"KEBAB_LISTEN": ":8080", **CELLS}),
        ("proxy/cells.cfg", {"KEBAB_CERTIFICATE": "site.pem", **CELLS}),
    ],
    ids=["kubernetes", "plain", "behind-a-balancer", "tls", "cells", "cells-tls"],
)
def test_haproxy_takes_its_configuration(file, environment, tmp_path, monkeypatch):
    haproxy, openssl = program("haproxy", "install Debian's haproxy"), program("openssl", "install openssl")
    monkeypatch.chdir(tmp_path)
    made = ("-newkey", "rsa:2048", "-nodes", "-keyout", "site.pem", "-out", "site.crt")
    (tmp_path / "cells.map").touch()
    run_check(openssl, "req", "-x509", *made, "-days", "1", "-subj", "/CN=kebab.example.org")
    with (tmp_path / "site.pem").open("a") as chain:
        chain.write((tmp_path / "site.crt").read_text())
    nodes = {"KEBAB_NODE_A": "10.0.0.11:8000", "KEBAB_NODE_B": "10.0.0.12:8000"}
    run_check(haproxy, "-c", "-dW", "-f", str(DEPLOY / file), env={**nodes, **environment})


def test_files_of_a_cluster_need_no_more_settings_than_the_example_has(tmp_path):
    folder = DEPLOY / "cluster"
    example = re.findall(r"^([A-Z0-9_]+)=(.*)", (folder / "cluster.env.example").read_text(), re.M)
    settings = {name: value or "a1" for name, value in example}
    for template in {*folder.iterdir()} - {folder / "fill", folder / "cluster.env.example"}:
        run_check(str(folder / "fill"), template.name, env=os.environ | settings)
    without = {name: "" if name == "PROXY" else value for name, value in settings.items()}
    command = [str(folder / "fill"), "haproxy.cfg"]
    assert subprocess.run(command, env=os.environ | without, capture_output=True, check=False).returncode == 1
    filled = tmp_path / "haproxy.cfg"
    filled.write_text(run_check(*command, env=os.environ | settings))
    run_check(program("haproxy", "install Debian's haproxy"), "-c", "-dW", "-f", str(filled))


@pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.name)
def test_units_are_sound_and_hardened(unit, tmp_path):
    analyze = program("systemd-analyze", "install Debian's systemd")
    for each in (*UNITS, DEPLOY / "systemd" / "kebab.target"):
        content = re.sub(r"^ExecStart=\S+", "ExecStart=/bin/true", each.read_text(), flags=re.M)
        (tmp_path / each.name).write_text(content)
    name = unit.name.replace("@.", "@8000.")
    if name != unit.name:
        (tmp_path / name).write_text((tmp_path / unit.name).read_text())
    report = run_check(
        analyze, "verify", "--man=no", str(tmp_path / name), env={"SYSTEMD_UNIT_PATH": f"{tmp_path}:"}
    )
    assert not [line for line in report.splitlines() if str(tmp_path) in line]


@pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.name)
def test_systemd_units_run_existing_commands_in_private(unit):
    content = unit.read_text()
    assert {"NoNewPrivileges=yes", "ProtectSystem=strict"} <= set(content.splitlines())
    verb = re.search(r"^ExecStart=/opt/kebab/\.venv/bin/kebab (\w+)", content, re.M)
    if verb is not None:
        folders = (DEPLOY.parent / name for name in ("kebab", "search", "ingest"))
        commands = {path.stem for each in folders for path in each.glob("**/management/commands/*.py")}
        assert verb[1] in commands


@pytest.mark.parametrize("name", ["web@", "worker", "embedder", "migrate"])
def test_units_may_write_where_the_handbook_has_hosts_share_blobs(name):
    handbook = (DEPLOY.parent / "docs" / "operations" / "install.md").read_text()
    (shared,) = set(re.findall(r"KEBAB_BLOBS_URL=file://(/\S+?)`", handbook))
    content = (DEPLOY / "systemd" / f"kebab-{name}.service").read_text()
    writable = [Path(path) for path in re.findall(r"^ReadWritePaths=-?(\S+)$", content, re.M)]
    assert any(Path(shared).is_relative_to(path) for path in writable)


def test_every_role_of_the_image_is_one_that_its_entrypoint_knows():
    entrypoint = (DEPLOY / "image" / "entrypoint.sh").read_text()
    known = {
        name for line in re.findall(r"^    ([a-z| ]+)\)", entrypoint, re.M) for name in line.split(" | ")
    }
    used = {service["command"][0] for name, service in ours().items() if "proxy" not in name}
    for folder in KUSTOMIZATIONS:
        for manifest in build(folder):
            used |= {each["args"][0] for each in containers(manifest) if "kebab" in each["image"]}
    assert used <= IMAGE_ROLES <= known


@pytest.fixture
def application(tmp_path):
    """Return a folder with the files that the image has in /app."""
    make_application(tmp_path / "app")
    return tmp_path / "app"


IMPORTED = """
import sys
sys.path.insert(0, sys.argv[1])
import django
django.setup()
import kebab.celery, kebab.application, kebab.urls
from kebab.http.api.openapi_schema import load_schema, schema_names
assert all(map(load_schema, schema_names()))
ours = [sys.modules[name] for name in sys.modules if name.partition(".")[0] in {"kebab", "search", "ingest"}]
print(*schema_names(), *{module.__file__ for module in ours if module.__file__})
"""


def import_views(application):
    """Import every view in a process that has this application alone."""
    folder = application.parent
    environment = {
        "PATH": os.environ["PATH"],
        "DJANGO_SETTINGS_MODULE": "kebab.settings",
        "DATABASE_URL": "postgresql://kebab_app@127.0.0.1:1/kebab",
        "REDIS_URL": "redis://127.0.0.1:1/0",
        "KEBAB_DATA_DIR": str(folder / "data"),
        "KEBAB_SECRET_KEY": "signs-nothing-that-anybody-will-see-0123",
        "TMPDIR": str(folder),
    }
    command = [sys.executable, "-I", "-c", IMPORTED, str(application)]
    return subprocess.run(
        command, env=environment, cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )


def test_image_contains_all_files_that_views_import(application):
    done = import_views(application)
    assert done.returncode == 0, done.stderr
    names = [path.stem for path in (DEPLOY.parent / "docs" / "wire-schema" / "v1").glob("*.json")]
    printed = done.stdout.split()
    schemas, files = printed[: len(names)], printed[len(names) :]
    assert schemas == sorted(names)
    assert files and all(Path(file).is_relative_to(application) for file in files)


def test_an_image_that_lacks_something_is_found(application):
    shutil.rmtree(application / "docs")
    assert "LookupError: There is no schema" in import_views(application).stderr


def test_image_contains_all_tracked_files_of_its_folders(application):
    git = program("git", "install git")
    if not (DEPLOY.parent / ".git").exists():
        pytest.skip("this is no checkout")
    folders = ("manage.py", "kebab", "search", "ingest", "docs/wire-schema", "docs/evaluation/handbook/files")
    # The checkout may belong to somebody else than who runs the tests.
    listing = ("-c", "safe.directory=*", "-C", str(DEPLOY.parent), "ls-files", "--", *folders)
    known = set(run_check(git, *listing).splitlines())
    found = {file.relative_to(application).as_posix() for file in application.rglob("*") if file.is_file()}
    assert known <= found
    assert {Path(name).parts[0] for name in found} == {Path(name).parts[0] for name in folders}


def test_ignored_files_cannot_be_copied(tmp_path):
    ignored = tmp_path / "ignored"
    ignored.write_text(IGNORED.read_text().replace("!docs/wire-schema\n", ""))
    with pytest.raises(ValueError, match="lets nothing in of docs/wire-schema"):
        make_application(tmp_path / "app", ignored=ignored)


@pytest.mark.parametrize(
    ("path", "is_out"),
    [
        ("docs/wire-schema/v1/error.v1.json", False),
        ("docs/people.md", True),
        ("docs/evaluation/handbook/files/it/vpn.md", False),
        ("docs/evaluation/handbook/queries.tsv", True),
        ("kebab/urls.py", False),
        ("kebab/http/api/__pycache__/errors.cpython-312.pyc", True),
        ("kebab/errors.pyc", True),
        ("deploy/requirements-s3.txt", False),
        ("deploy/image/entrypoint.sh", False),
        ("deploy/compose/make-roles.sh", True),
        (".env", True),
        (".git/config", True),
        ("kebab.env", True),
    ],
)
def test_image_excludes_other_files(path, is_out):
    assert Ignored(IGNORED.read_text()).holds(path) is is_out


def test_network_policies_hold_for_every_pod():
    manifests = build(KUBERNETES / "base")
    policies = [each for each in manifests if each["kind"] == "NetworkPolicy"]
    closed = next(each for each in policies if each["metadata"]["name"] == "kebab-nothing-comes-in")
    wanted = closed["spec"]["podSelector"]["matchLabels"].items()
    pods = [each["spec"]["template"]["metadata"]["labels"] for each in manifests if list(containers(each))]
    assert pods and all(wanted <= labels.items() for labels in pods)


def test_pods_without_a_web_process_tell_prometheus_what_they_count():
    manifests = build(KUBERNETES / "base")
    scraped = [each["spec"] for each in manifests if each["kind"] == "NetworkPolicy" and may_be_scraped(each)]
    apart = [
        (each["spec"]["template"]["metadata"]["labels"], container)
        for each in manifests
        for container in containers(each)
        if container.get("args", [""])[0] in counting_roles()
        and ["web"] not in [beside["args"] for beside in containers(each)]
    ]
    assert {container["args"][0] for _, container in apart} == {"worker", "embedder", "beat"}
    for labels, container in apart:
        (port,) = container["ports"]
        assert {"name": "KEBAB_METRICS_PORT", "value": str(port["containerPort"])} in container["env"]
        reached = [
            name for policy in scraped if selects(policy["podSelector"], labels) for name in ports(policy)
        ]
        assert port["name"] in reached, container["name"]


def may_be_scraped(policy):
    wanted = {"namespaceSelector": {"matchLabels": {"kebab/may-scrape": "true"}}}
    return any(wanted in each.get("from", ()) for each in policy["spec"].get("ingress", ()))


def ports(policy):
    return [port["port"] for each in policy["ingress"] for port in each["ports"]]


def selects(selector, labels):
    """Return whether a selector of labels and of expressions with `In` takes these."""
    named = selector.get("matchLabels", {}).items() <= labels.items()
    expressions = selector.get("matchExpressions", ())
    return named and all(
        each["operator"] == "In" and labels.get(each["key"]) in each["values"] for each in expressions
    )


def test_every_pod_selector_matches_pods():
    manifests = build(KUBERNETES / "overlays" / "example")
    pods = [each["spec"]["template"]["metadata"]["labels"] for each in manifests if list(containers(each))]
    for manifest in manifests:
        selector = manifest.get("spec", {}).get("selector")
        if selector:
            wanted = selector.get("matchLabels", selector)
            assert any(wanted.items() <= labels.items() for labels in pods), manifest["metadata"]["name"]
        scaled = manifest.get("spec", {}).get("scaleTargetRef")
        if scaled:
            assert scaled["name"] in {
                each["metadata"]["name"] for each in manifests if each["kind"] == "Deployment"
            }


@pytest.mark.parametrize("name", ["autoscaling-keda", "autoscaling-hpa"])
def test_replica_counts_are_set_by_the_autoscaler_only(name):
    base = build(KUBERNETES / "base")
    counted = {each["metadata"]["name"]: each["spec"]["replicas"] for each in base if runs_for_ever(each)}
    assert counted["kebab-worker"] == 2 and counted["kebab-embedder"] == 1
    manifests = build(KUBERNETES / "components" / name, base)
    scaled = {each["spec"]["scaleTargetRef"]["name"] for each in manifests if scales(each)}
    left = {each["metadata"]["name"] for each in manifests if "replicas" in each.get("spec", {})}
    assert scaled == {"kebab-worker", "kebab-embedder"}
    assert left == counted.keys() - scaled


def test_pods_have_probes_and_those_that_may_be_several_a_disruption_budget():
    manifests = build(KUBERNETES / "overlays" / "example")
    for manifest in filter(runs_for_ever, manifests):
        assert all("livenessProbe" in each for each in containers(manifest)), manifest["metadata"]["name"]
    scaled = {each["spec"]["scaleTargetRef"]["name"] for each in manifests if scales(each)}
    several = {each["metadata"]["name"] for each in manifests if each.get("spec", {}).get("replicas", 0) > 1}
    budgets = [each["metadata"]["name"] for each in manifests if each["kind"] == "PodDisruptionBudget"]
    assert set(budgets) == scaled | several


def test_only_search_nodes_have_a_disk_of_their_own_which_is_rebuilt():
    for manifest in build(KUBERNETES / "base"):
        pod = manifest.get("spec", {}).get("template", {}).get("spec", {})
        assert all({"emptyDir", "configMap"} & volume.keys() for volume in pod.get("volumes", ()))
        claims = manifest.get("spec", {}).get("volumeClaimTemplates", ())
        assert not claims or manifest["metadata"]["name"] == "kebab-node"


def runs_for_ever(manifest):
    return manifest["kind"] in {"Deployment", "StatefulSet"}


def scales(manifest):
    return "scaleTargetRef" in manifest.get("spec", {})


def test_router_configuration_covers_the_maximum_number_of_nodes():
    configuration = (KUBERNETES / "base" / "haproxy.cfg").read_text()
    names = re.findall(r'^    server \S+ "(\S+):8000" id', configuration, re.M)
    namespace = {"fieldRef": {"fieldPath": "metadata.namespace"}}
    for folder in KUSTOMIZATIONS:
        manifests = build(folder)
        (node,) = (each for each in manifests if each["kind"] == "StatefulSet")
        assert node["spec"]["replicas"] <= len(names) == 8
        # In full: HAProxy's resolver knows no search domains.
        domain = f"{node['spec']['serviceName']}.${{NODES_NAMESPACE}}.svc.cluster.local"
        assert names == [f"{node['metadata']['name']}-{n}.{domain}" for n in range(8)]
        (router,) = (each for each in manifests if "haproxy" in "".join(images(each)))
        (container,) = containers(router)
        assert {"name": "NODES_NAMESPACE", "valueFrom": namespace} in container["env"]


def test_settings_that_are_set_are_settings_that_are_read():
    read = set(re.findall(r'"(KEBAB_[A-Z_]+)"', (DEPLOY.parent / "kebab" / "settings.py").read_text()))
    names = {name for each in ours().values() for name in each.get("environment", {})}
    for folder in KUSTOMIZATIONS:
        for manifest in build(folder):
            names |= {name for name in manifest.get("data", {}) if name.isupper()}
            names |= {each["name"] for part in containers(manifest) for each in part.get("env", ())}
    for example in (DEPLOY / "systemd").glob("*.example"):
        names |= set(re.findall(r"^([A-Z_]+)=", example.read_text(), re.M))
    ours_alone = {name for name in names if name.startswith("KEBAB_")} - set(
        re.findall(r"KEBAB_[A-Z_]+", (DEPLOY / "proxy" / "haproxy.cfg").read_text())
    )
    assert ours_alone - read == set()


def test_the_handbook_names_files_that_exist():
    handbook = DEPLOY.parent / "docs" / "operations"
    for page in handbook.glob("*.md"):
        for name in re.findall(r"`(deploy/[\w./@-]+)`", page.read_text()):
            assert (Path(DEPLOY.parent) / name).exists(), (page.name, name)
