"""The router of the Kubernetes manifests, HAProxy with their configuration, in front of nodes here."""

import re
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.acceptance.deploy.servers_by_tcp import DEPLOY, find_program
from tests.support.stack import free_port


@contextmanager
def routing(ports: Sequence[int], folder: Path, skip: Callable[[str], object]) -> Iterator[int]:
    """Run it with its log in `folder`, its first names being nodes at these ports; give its own port."""
    program = find_program("haproxy", "install Debian's haproxy", skip)
    told = (DEPLOY / "kubernetes" / "base" / "haproxy.cfg").read_text()
    for number, node in enumerate(ports):
        name = f'"kebab-node-{number}.kebab-nodes.${{NODES_NAMESPACE}}.svc.cluster.local:8000"'
        assert name in told
        told = told.replace(name, f"127.0.0.1:{node}")
    told = re.sub(r"^    server .*kebab-node-.*\n", "", told, flags=re.M)
    port = free_port()
    file = folder / "haproxy.cfg"
    file.write_text(told.replace("bind :8080", f"bind 127.0.0.1:{port}"))
    with (folder / "log").open("wb") as log:
        running = subprocess.Popen([program, "-W", "-db", "-f", str(file)], stdout=log, stderr=log)
    try:
        yield port
    finally:
        running.terminate()
        running.wait(30)
