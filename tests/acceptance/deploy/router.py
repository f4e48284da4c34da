"""HAProxy with the configuration of the Kubernetes manifests, in front of nodes on this machine."""

import re
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.acceptance.deploy.servers_by_tcp import DEPLOY, find_program
from tests.support.stack import free_port


@contextmanager
def run_router(ports: Sequence[int], folder: Path, skip: Callable[[str], object]) -> Iterator[int]:
    """Run it with its log in `folder`, with nodes at these ports as its first servers; yield its own port."""
    program = find_program("haproxy", "install Debian's haproxy", skip)
    configuration = (DEPLOY / "kubernetes" / "base" / "haproxy.cfg").read_text()
    for number, node in enumerate(ports):
        name = f'"kebab-node-{number}.kebab-nodes.${{NODES_NAMESPACE}}.svc.cluster.local:8000"'
        assert name in configuration
        configuration = configuration.replace(name, f"127.0.0.1:{node}")
    configuration = re.sub(r"^    server .*kebab-node-.*\n", "", configuration, flags=re.M)
    port = free_port()
    file = folder / "haproxy.cfg"
    file.write_text(configuration.replace("bind :8080", f"bind 127.0.0.1:{port}"))
    with (folder / "log").open("wb") as log:
        running = subprocess.Popen([program, "-W", "-db", "-f", str(file)], stdout=log, stderr=log)
    try:
        yield port
    finally:
        running.terminate()
        running.wait(30)
