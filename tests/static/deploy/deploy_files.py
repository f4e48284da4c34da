"""Readers of the deployment files, for their tests."""

import subprocess

import yaml

from tests.acceptance.deploy.servers_by_tcp import DEPLOY

KUBERNETES = DEPLOY / "kubernetes"
KUSTOMIZATIONS = [KUBERNETES / "base", KUBERNETES / "overlays" / "example"]
COMPOSE = yaml.safe_load((DEPLOY / "compose" / "compose.yaml").read_text())


def run_check(*command, **options):
    """Run a program that must succeed, and return its output."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def ours():
    """Return the services of Kebab's own image."""
    return {name: service for name, service in COMPOSE["services"].items() if "kebab" in service["image"]}


def counting_roles():
    """Return the roles that serve metrics at KEBAB_METRICS_PORT."""
    packages = [DEPLOY.parent / name for name in ("kebab", "search", "ingest")]
    commands = [path for package in packages for path in package.glob("**/management/commands/*.py")]
    verbs = {path.stem for path in commands if "serve_metrics()" in path.read_text()}
    return {*verbs, "embedder"} if "worker" in verbs else verbs
