"""Git over the network: credentials, redirects, private addresses, ssh."""

import logging
import os
import re
import shutil
import stat
import subprocess

import pytest
from cryptography.fernet import Fernet
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from django.core import serializers

from ingest.connectors.git.address import read_address
from ingest.connectors.git.credentials import (
    Credentials,
    seal_again,
    seal_credentials,
    unseal_credentials,
)
from ingest.connectors.git.environment import git_environment
from ingest.connectors.git.place import Place
from ingest.models import Job
from kebab.people.models import AuditEvent
from search.corpus import ensure_source
from search.models import Source
from tests.integration.ingest.jobs.git_documents import source_of
from tests.integration.ingest.jobs.git_host import git_host
from tests.support.jobs import counts, failure, sync

SECRET = "s3cret-Tok/en+x"


@pytest.fixture
def repository(served_repository):
    return served_repository


@pytest.fixture
def source(workspace, repository):
    return source_of(workspace, repository.url)


@pytest.fixture
def allowed(settings):
    settings.KEBAB_PRIVATE_HOSTS = frozenset({"127.0.0.1"})


def test_a_repository_is_read_over_http(workspace, repository, allowed):
    with git_host(repository.root.parent) as host:
        source = source_of(workspace, f"{host.url}/origin/.git")
        assert counts(sync(source))["new"] == 2
        repository.commit({"a.md": "two\n"})
        assert counts(sync(source)) == {"seen": 2, "updated": 1, "unchanged": 1, "parser_calls": 1}


def test_credentials_open_what_is_closed_and_are_seen_nowhere(workspace, repository, allowed, caplog):
    caplog.set_level(logging.DEBUG)
    sealed = seal_credentials(Credentials(username="ada", password=SECRET))
    with git_host(repository.root.parent, login=f"ada:{SECRET}") as host:
        source = source_of(workspace, f"{host.url}/origin/.git")
        assert "asks for credentials" in failure(source)
        Source.objects.update(sealed_credentials=sealed)
        source.refresh_from_db()
        assert counts(sync(source))["new"] == 2
        Source.objects.update(
            sealed_credentials=seal_credentials(Credentials(username="ada", password=SECRET + "x"))
        )
        source.refresh_from_db()
        repository.commit({"a.md": "two\n"})
        assert "refuses those" in failure(source)
    rows = serializers.serialize(
        "json", [*Source.objects.all(), *Job.objects.all(), *AuditEvent.objects.all()]
    )
    kept = b"".join(
        file.read_bytes() for file in Place.of(workspace.pk, source.pk).folder.rglob("*") if file.is_file()
    )
    for shown in (rows, caplog.text, kept.decode(errors="replace"), repr(Credentials(password=SECRET))):
        assert SECRET not in shown
        assert Credentials(username="ada", password=SECRET).authorization.split()[1] not in shown


def test_what_was_sealed_under_a_lost_key_asks_for_credentials(workspace, repository, settings):
    sealed = seal_credentials(Credentials(username="ada", password=SECRET))
    source = source_of(workspace, repository.url, sealed_credentials=sealed)
    settings.KEBAB_ENCRYPTION_KEYS = [Fernet.generate_key().decode()]

    assert "KEBAB_ENCRYPTION_KEYS" in failure(source)


def test_at_a_start_all_credentials_are_sealed_under_the_first_key(workspace, repository, settings, caplog):
    sealed = seal_credentials(Credentials(username="ada", password=SECRET))
    source = source_of(workspace, repository.url, sealed_credentials=sealed)
    lost = ensure_source(workspace, "lost", kind="git", config={"url": repository.url})
    Source.objects.filter(pk=lost.pk).update(sealed_credentials="nonsense")
    settings.KEBAB_ENCRYPTION_KEYS = [Fernet.generate_key().decode(), *settings.KEBAB_ENCRYPTION_KEYS]
    seal_again()
    settings.KEBAB_ENCRYPTION_KEYS = settings.KEBAB_ENCRYPTION_KEYS[:1]
    source.refresh_from_db()

    assert unseal_credentials(source.sealed_credentials).password == SECRET
    assert str(lost.pk) in caplog.text


def test_a_redirect_is_not_followed(workspace, repository, allowed):
    with git_host(repository.root.parent) as inner, git_host(repository.root.parent) as host:
        host.moved["/"] = inner.url
        assert "has moved" in failure(source_of(workspace, f"{host.url}/origin/.git"))
        assert inner.asked == []


def test_a_private_address_is_asked_nothing(workspace, repository, settings, monkeypatch):
    settings.KEBAB_PRIVATE_HOSTS = frozenset()
    with git_host(repository.root.parent) as host:
        source = source_of(workspace, f"https://127.0.0.1:{host.server_port}/origin/.git")
        assert "KEBAB_PRIVATE_HOSTS" in failure(source)
        Source.objects.update(config={"url": f"https://git.example.org:{host.server_port}/origin/.git"})
        source.refresh_from_db()
        answer = [(2, 1, 6, "", ("127.0.0.1", host.server_port))]
        monkeypatch.setattr("kebab.outgoing.addresses.socket.getaddrinfo", lambda *_, **__: answer)
        assert "private address" in failure(source)
        assert host.asked == []


def test_the_connection_goes_to_the_address_that_was_checked(workspace, repository, settings, monkeypatch):
    settings.KEBAB_PRIVATE_HOSTS = frozenset({"git.example.invalid"})
    with git_host(repository.root.parent) as host:
        answer = [(2, 1, 6, "", ("127.0.0.1", host.server_port))]
        monkeypatch.setattr("kebab.outgoing.addresses.socket.getaddrinfo", lambda *_, **__: answer)
        url = f"http://git.example.invalid:{host.server_port}/origin/.git"
        assert counts(sync(source_of(workspace, url)))["new"] == 2


def test_a_host_that_is_not_there_is_said_to_be(workspace, allowed):
    assert "can't be reached" in failure(source_of(workspace, "http://127.0.0.1:9/origin.git"))


@pytest.mark.parametrize(
    "url",
    [
        "ext::sh -c touch% /tmp/x",
        "git://example.org/a/b",
        "--upload-pack=touch",
        "fd::17",
        "http://example.org/a/b",
    ],
)
def test_an_address_that_came_by_another_way_is_refused_too(workspace, url):
    assert "address must" in (error := failure(source_of(workspace, url))) or "in the clear" in error


@pytest.fixture
def fake_ssh(tmp_path, monkeypatch):
    """A program in the place of ssh that notes what it is asked and runs the command here."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "ssh"
    program.write_text(
        f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/asked\n'
        f'for given in "$@"; do case "$given" in IdentityFile=/*) '
        f'cat "${{given#IdentityFile=}}" > {tmp_path}/key; stat -L -c %a "${{given#IdentityFile=}}"'
        f' > {tmp_path}/mode;; esac; done\nfor last; do :; done\nexec sh -c "$last"\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setattr(
        "kebab.outgoing.addresses.socket.getaddrinfo", lambda *_, **__: [(2, 1, 6, "", ("127.0.0.1", 22))]
    )
    return tmp_path


def private_key():
    key = Ed25519PrivateKey.generate()
    return key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()).decode()


@pytest.mark.parametrize("form", ["ssh://git@127.0.0.1:2222{path}", "git@127.0.0.1:{path}"])
def test_ssh_gets_the_key_from_memory_and_nothing_of_the_users(
    workspace, repository, allowed, fake_ssh, form
):
    key = private_key()
    url = form.format(path=f"{repository.root}/.git")
    sealed = seal_credentials(Credentials(private_key=key))
    source = source_of(workspace, url, sealed_credentials=sealed)

    assert counts(sync(source))["new"] == 2
    asked = (fake_ssh / "asked").read_text().splitlines()
    assert asked[:2] == ["-F", "/dev/null"]
    assert {"BatchMode=yes", "IdentityAgent=none", "HostName=127.0.0.1", "ProxyCommand=none"} <= set(asked)
    assert ((fake_ssh / "key").read_text(), (fake_ssh / "mode").read_text()) == (key, "600\n")
    assert key not in "\n".join(asked)


def test_ssh_itself_takes_a_key_from_memory(settings, tmp_path):
    if shutil.which("ssh-keygen") is None:
        pytest.skip("needs ssh-keygen")
    place = Place(tmp_path)
    address = read_address("git@127.0.0.1:a/b")
    with git_environment(
        place, address, ["127.0.0.1"], Credentials(private_key=private_key())
    ) as environment:
        file = re.search(r"IdentityFile=(\S+)", environment["GIT_SSH_COMMAND"])[1]
        assert stat.S_IMODE(os.stat(file).st_mode) == 0o600  # noqa: PTH116
        ran = subprocess.run(["ssh-keygen", "-y", "-f", file], capture_output=True, check=False)  # noqa: S607
    assert ran.stdout.startswith(b"ssh-ed25519 "), ran.stderr
