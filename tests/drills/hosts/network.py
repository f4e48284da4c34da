"""Hosts as network namespaces on two bridges, with links that can be cut.

Clients reach the nodes over the front, nodes reach the database over the back. Packets are dropped by mapping
a neighbour to a hardware address that doesn't exist: they leave and vanish, silently and in one direction, as
behind a broken switch. This needs neither a packet filter nor a kernel module.
"""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

FRONT, BACK = "front", "back"
_NETS = {FRONT: "10.77.1", BACK: "10.77.2"}
_HUB = 254
_NOBODY = "02:00:00:00:00:99"
_LIMIT_S = 10


def launcher() -> list[str]:
    """Return the command prefix that runs a program in a network of its own, as its root."""
    return ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--net"]


def missing_requirement() -> str | None:
    """Return a message about missing requirements of namespaces; None when there are none."""
    probe = [*launcher(), "ip", "link", "add", "probe", "type", "bridge"]
    try:
        tried = subprocess.run(probe, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return "unshare is missing: install util-linux"
    if tried.returncode == 0:
        return None
    return (
        f"network namespaces need iproute2, and root or unprivileged user namespaces: {tried.stderr.strip()}"
    )


class Host:
    """A network namespace, held by a sleeping process."""

    def __init__(self, name: str, number: int) -> None:
        self.name = name
        self._number = number
        self._devices: dict[str, str] = {}
        tie = "import ctypes,time; ctypes.CDLL(None).prctl(1, 9); time.sleep(86400)"
        command = ["unshare", "--net", sys.executable, "-I", "-S", "-c", tie]
        self._holder = subprocess.Popen(command)
        self._await_namespace()
        self.ip("link", "set", "lo", "up")

    def address(self, net: str) -> str:
        """Return its address on a bridge."""
        return f"{_NETS[net]}.{self._number}"

    def inside(self, command: Sequence[str]) -> list[str]:
        """Return the command that runs another one in the namespace."""
        return ["nsenter", f"--net=/proc/{self._holder.pid}/ns/net", "--", *command]

    def ip(self, *arguments: str) -> None:
        """Run `ip` in the namespace."""
        _run(self.inside(["ip", *arguments]))

    def join(self, net: str, *more: int) -> None:
        """Connect it to a bridge, with further addresses beside its own."""
        device, port = f"{net}0", self._port(net)
        _run(["ip", "link", "add", port, "type", "veth", "peer", device, "netns", str(self._holder.pid)])
        _run(["ip", "link", "set", port, "master", net, "up"])
        for number in (self._number, *more):
            self.ip("address", "add", f"{_NETS[net]}.{number}/24", "dev", device)
        self.ip("link", "set", device, "up")
        self._devices[net] = device

    def unplug(self, net: str) -> None:
        """Unplug its cable."""
        _run(["ip", "link", "set", self._port(net), "down"])

    def plug(self, net: str) -> None:
        """Plug the cable in again."""
        _run(["ip", "link", "set", self._port(net), "up"])

    def drop_packets(self, net: str, address: str) -> None:
        """Drop all packets to an address."""
        self.ip(
            "neighbour", "replace", address, "lladdr", _NOBODY, "dev", self._devices[net], "nud", "permanent"
        )

    def restore_packets(self, net: str, address: str) -> None:
        """Let packets to an address pass again."""
        self.ip("neighbour", "delete", address, "dev", self._devices[net])

    def end(self) -> None:
        """Release the namespace."""
        self._holder.kill()
        self._holder.wait()

    def _port(self, net: str) -> str:
        return f"{self.name}-{net}"

    def _await_namespace(self) -> None:
        ours = Path("/proc/self/ns/net").readlink()
        deadline = time.monotonic() + _LIMIT_S
        while Path(f"/proc/{self._holder.pid}/ns/net").readlink() == ours:
            if self._holder.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"The host {self.name} got no namespace of its own.")
            time.sleep(0.01)


@contextlib.contextmanager
def bridges() -> Iterator[None]:
    """Create both bridges in our own namespace, with this process on both."""
    _run(["ip", "link", "set", "lo", "up"])
    for net, prefix in _NETS.items():
        _run(["ip", "link", "add", net, "type", "bridge"])
        _run(["ip", "address", "add", f"{prefix}.{_HUB}/24", "dev", net])
        _run(["ip", "link", "set", net, "up"])
    yield


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_LIMIT_S)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")
