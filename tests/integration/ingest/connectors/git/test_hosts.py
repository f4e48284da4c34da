"""Git over HTTP and ssh: credentials, redirects and private addresses."""

import logging
import os

import pytest
from cryptography.fernet import Fernet
from django.core import serializers

from ingest.connectors.git.credentials import Credentials, decrypt_credentials, rotate_credentials
from ingest.models import Job
from kebab.identity.models import AuditEvent
from search.models import Source
from tests.integration.ingest.connectors.git.documents import place_of, source_of
from tests.integration.ingest.connectors.git.git_host import git_host
from tests.integration.ingest.connectors.git.ssh_host import key_pair
from tests.support.jobs import counts, failure, sync

SECRET = "s3cret-Tok/en+x"
LOGIN = {"username": "ada", "password": SECRET}
LOOK_UP = "kebab.http_client.connections.socket.getaddrinfo"


@pytest.fixture
def allow_localhost(settings):
    settings.KEBAB_PRIVATE_HOSTS = frozenset({"127.0.0.1"})


def test_credentials_open_a_closed_repository_and_are_seen_nowhere(
    workspace, repository, allow_localhost, caplog
):
    caplog.set_level(logging.DEBUG)
    with git_host(repository.root.parent, login=f"ada:{SECRET}") as host:
        source = source_of(workspace, f"{host.url}/origin/.git")
        assert "asks for credentials" in failure(source)
        source = source_of(workspace, source.config["url"], **LOGIN)
        assert counts(sync(source))["new"] == 3
        repository.commit({"docs/a.md": "two\n"})
        assert counts(sync(source)) == {"seen": 3, "updated": 1, "unchanged": 2, "parser_calls": 1}
        source = source_of(workspace, source.config["url"], username="ada", password=SECRET + "x")
        repository.commit({"docs/a.md": "three\n"})
        assert "refuses" in failure(source)
    rows = serializers.serialize(
        "json", [*Source.objects.all(), *Job.objects.all(), *AuditEvent.objects.all()]
    )
    kept = b"".join(file.read_bytes() for file in place_of(source).folder.rglob("*") if file.is_file())
    for shown in (rows, caplog.text, kept.decode(errors="replace"), repr(Credentials(password=SECRET))):
        assert SECRET not in shown
        assert Credentials(username="ada", password=SECRET).authorization.split()[1] not in shown


def test_credentials_are_sealed_again_under_the_first_key_and_asked_for_without_it(
    workspace, repository, settings, caplog
):
    source = source_of(workspace, repository.url, **LOGIN)
    lost = source_of(workspace, repository.url, key="lost")
    Source.objects.filter(pk=lost.pk).update(sealed_credentials="nonsense")
    old, new = settings.KEBAB_ENCRYPTION_KEYS, Fernet.generate_key().decode()
    settings.KEBAB_ENCRYPTION_KEYS = [new, *old]
    rotate_credentials()
    settings.KEBAB_ENCRYPTION_KEYS = [new]
    source.refresh_from_db()

    assert decrypt_credentials(source.sealed_credentials).password == SECRET
    assert str(lost.pk) in caplog.text
    settings.KEBAB_ENCRYPTION_KEYS = old
    assert "KEBAB_ENCRYPTION_KEYS" in failure(source)


def test_redirect_is_not_followed(workspace, repository, allow_localhost):
    with git_host(repository.root.parent) as inner, git_host(repository.root.parent) as host:
        host.moved["/"] = inner.url
        assert "moved" in failure(source_of(workspace, f"{host.url}/origin/.git"))
        assert inner.asked == []


def test_private_address_receives_no_request(workspace, repository, settings, monkeypatch):
    settings.KEBAB_PRIVATE_HOSTS = frozenset()
    with git_host(repository.root.parent) as host:
        port = host.server_port
        assert "KEBAB_PRIVATE_HOSTS" in failure(source_of(workspace, f"https://127.0.0.1:{port}/origin/.git"))
        Source.objects.update(config={"url": f"https://git.example.org:{port}/origin/.git"})
        monkeypatch.setattr(LOOK_UP, lambda *_, **__: [(2, 1, 6, "", ("127.0.0.1", port))])
        assert "is not public" in failure(Source.objects.get())
        assert host.asked == []


def test_connection_uses_the_checked_address(workspace, repository, settings, monkeypatch):
    settings.KEBAB_PRIVATE_HOSTS = frozenset({"git.example.invalid"})
    with git_host(repository.root.parent) as host:
        answer = [(2, 1, 6, "", ("127.0.0.1", host.server_port))]
        monkeypatch.setattr(LOOK_UP, lambda *_, **__: answer)
        url = f"http://git.example.invalid:{host.server_port}/origin/.git"
        assert counts(sync(source_of(workspace, url)))["new"] == 3


def test_address_that_was_stored_unchecked_is_refused(workspace, subtests):
    urls = ("ext::sh -c touch% /tmp/x", "git://example.org/a/b", "--upload-pack=touch", "fd::17")
    for nth, url in enumerate((*urls, "http://example.org/a/b")):
        with subtests.test(url=url):
            message = "address must" if url in urls else "the clear"
            assert message in failure(source_of(workspace, url, key=f"r{nth}"))


@pytest.fixture
def fake_ssh(tmp_path, monkeypatch):
    """Install a program in place of ssh that records its arguments and runs the command here."""
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
    monkeypatch.setattr(LOOK_UP, lambda *_, **__: [(2, 1, 6, "", ("127.0.0.1", 22))])
    return tmp_path


@pytest.mark.parametrize("form", ["ssh://git@127.0.0.1:2222{path}", "git@127.0.0.1:{path}"])
def test_ssh_gets_the_key_from_memory_and_no_configuration(
    workspace, repository, allow_localhost, fake_ssh, form
):
    key, _ = key_pair()
    url = form.format(path=f"{repository.root}/.git")
    assert counts(sync(source_of(workspace, url, private_key=key)))["new"] == 3
    asked = (fake_ssh / "asked").read_text().splitlines()
    assert asked[:2] == ["-F", "/dev/null"]
    assert {"BatchMode=yes", "IdentityAgent=none", "HostName=127.0.0.1", "ProxyCommand=none"} <= set(asked)
    assert ((fake_ssh / "key").read_text(), (fake_ssh / "mode").read_text()) == (key, "600\n")
    assert key not in "\n".join(asked)
