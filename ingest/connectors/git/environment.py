"""Configuration and environment of git commands, without those of the machine or the user."""

import os
import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings

from ingest.connectors.git.address import GitAddress, Transport
from ingest.connectors.git.command import git_program
from ingest.connectors.git.credentials import Credentials
from ingest.connectors.git.local_copy import CopyPaths
from kebab.runtime.durable_files import replace_text

_CONFIG = """\
[core]
\thooksPath = /dev/null
\tfsmonitor = false
\taskPass =
\tbigFileThreshold = 16m
[protocol]
\tallow = never
[protocol "{transport}"]
\tallow = always
[credential]
\thelper =
[http]
\tfollowRedirects = false
\tlowSpeedLimit = 1000
\tlowSpeedTime = 30
\tproxy =
[fetch]
\trecurseSubmodules = false
\tunpackLimit = 1
[submodule]
\trecurse = false
[transfer]
\tbundleURI = false
[gc]
\tauto = 0
[maintenance]
\tauto = false
[pack]
\tthreads = 1
\twindowMemory = 64m
"""
_SSH_OPTIONS = """
BatchMode=yes IdentitiesOnly=yes IdentityAgent=none PreferredAuthentications=publickey
StrictHostKeyChecking=accept-new UpdateHostKeys=no CheckHostIP=no ConnectTimeout=15 ServerAliveInterval=15
ServerAliveCountMax=2 ClearAllForwardings=yes PermitLocalCommand=no ProxyCommand=none ControlPath=none
"""


def write_config(paths: CopyPaths, address: GitAddress) -> None:
    """Write git's configuration for this source; it contains no secret."""
    text = _CONFIG.format(transport=address.transport)
    if address.folder is not None:
        # git refuses repositories of another user, unless the folder is listed as safe.
        text += "".join(
            f"[safe]\n\tdirectory = {_quote(path)}\n" for path in (address.folder, address.folder / ".git")
        )
    replace_text(paths.config, text)


@contextmanager
def git_environment(
    paths: CopyPaths, address: GitAddress, addresses: Sequence[str], credentials: Credentials | None
) -> Iterator[dict[str, str]]:
    """Yield the environment for commands that connect to `address`, its host pinned to `addresses`.

    A private key exists only while the context is open.
    """
    with _key_file(credentials) as key:
        environment = local_environment(paths)
        environment["GIT_ALLOW_PROTOCOL"] = address.transport
        if address.transport is Transport.SSH:
            environment["GIT_SSH_COMMAND"] = _ssh_command(paths, address, addresses, key)
            environment["GIT_SSH_VARIANT"] = "ssh"
        elif address.transport is not Transport.FILE:
            environment.update(_option_variables(_http_options(address, addresses, credentials)))
            variables = {"GIT_SSL_CAINFO": settings.SSL_CERT_FILE, "GIT_SSL_CAPATH": settings.SSL_CERT_DIR}
            environment.update({name: path for name, path in variables.items() if path})
        yield environment


def local_environment(paths: CopyPaths) -> dict[str, str]:
    """Return the environment of commands that use the local copy only."""
    return {
        "PATH": f"{Path(git_program()).parent}:{os.defpath}",
        "LC_ALL": "C",
        "HOME": str(paths.folder),
        "XDG_CONFIG_HOME": str(paths.folder),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": str(paths.config),
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_ALLOW_PROTOCOL": "",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "SSH_ASKPASS_REQUIRE": "never",
    }


def _http_options(
    address: GitAddress, addresses: Sequence[str], credentials: Credentials | None
) -> Iterator[tuple[str, str]]:
    if ":" not in address.host:  # an IPv6 address needs no resolution
        # The connection goes to the checked addresses, even if the name resolves to others by then.
        numeric = ",".join(f"[{each}]" if ":" in each else each for each in addresses)
        yield "http.curloptResolve", f"{address.host}:{address.port}:{numeric}"
    if credentials is not None:
        yield "http.extraHeader", f"Authorization: {credentials.authorization}"


def _option_variables(options: Iterator[tuple[str, str]]) -> Mapping[str, str]:
    """Return options as environment variables, since every user of the machine can read arguments."""
    pairs = list(options)
    variables = {
        name: value
        for nth, (key, option) in enumerate(pairs)
        for name, value in ((f"GIT_CONFIG_KEY_{nth}", key), (f"GIT_CONFIG_VALUE_{nth}", option))
    }
    return {"GIT_CONFIG_COUNT": str(len(pairs)), **variables}


def _ssh_command(paths: CopyPaths, address: GitAddress, addresses: Sequence[str], key: str) -> str:
    options = [
        *_SSH_OPTIONS.split(),
        f"UserKnownHostsFile={paths.known_hosts}",
        f"HostName={addresses[0]}",
        f"HostKeyAlias={address.host}",
        f"IdentityFile={key}",
    ]
    arguments = [argument for option in options for argument in ("-o", option)]
    return shlex.join([shutil.which("ssh") or "ssh", "-F", "/dev/null", *arguments])


@contextmanager
def _key_file(credentials: Credentials | None) -> Iterator[str]:
    """Yield the path of a private key for ssh: a file in memory, which does not outlive this process."""
    if credentials is None or not credentials.private_key:
        yield "none"
        return
    descriptor = os.memfd_create("key", os.MFD_CLOEXEC)
    try:
        os.fchmod(descriptor, 0o600)
        os.write(descriptor, credentials.private_key.encode())
        yield f"/proc/{os.getpid()}/fd/{descriptor}"
    finally:
        os.close(descriptor)


def _quote(path: Path) -> str:
    escaped = str(path).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
