"""Addresses of git repositories, reference names, credentials and git's messages."""

import shutil
import subprocess
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from hypothesis import given
from hypothesis import strategies as st

from ingest.connectors.errors import ListingFailed
from ingest.connectors.git.address import check_address, parse_address
from ingest.connectors.git.credentials import parse_credentials
from ingest.connectors.git.messages import explain
from ingest.connectors.git.repository import RequestedRef, local_reference, parse_refs
from ingest.errors import AddressNotAllowed, CredentialsRefused


def test_address_is_read(subtests):
    for text, url, host, port, name in [
        ("https://github.com/a/b", "https://github.com/a/b", "github.com", 443, "b"),
        ("HTTPS://GitHub.com:8443/a/b.git/", "https://github.com:8443/a/b.git/", "github.com", 8443, "b"),
        ("https://ada@github.com/a/b", "https://github.com/a/b", "github.com", 443, "b"),
        ("https://[2001:db8::1]:9/a", "https://[2001:db8::1]:9/a", "2001:db8::1", 9, "a"),
        ("ssh://git@host.org/~/b.git", "ssh://git@host.org/~/b.git", "host.org", 22, "b"),
        ("ssh://git@host.org:2222/b", "ssh://git@host.org:2222/b", "host.org", 2222, "b"),
        ("git@host.org:b.git", "git@host.org:b.git", "host.org", 22, "b"),
        (" git@host.org:a/b%20c ", "git@host.org:a/b%20c", "host.org", 22, "b c"),
        ("file:///srv/a%20b.git", "file:///srv/a%20b.git", "", 0, "a b"),
        ("file://localhost/srv/b", "file:///srv/b", "", 0, "b"),
    ]:
        with subtests.test(case=text):
            address = parse_address(text)
            assert (address.url, address.host, address.port, address.name) == (url, host, port, name)
    assert parse_address("file:///srv/a%20b").folder == Path("/srv/a b")


NO_ADDRESSES = """
    /srv/repo ./repo C:/repo -oProxyCommand=x --upload-pack=touch ext::sh fd::17/foo
    foo::https://example.org/a git://example.org/a/b ftp://example.org/a/b http+git://example.org/a
    https:// https:///a/b https://example.org https://example.org/ https://example.org/a?b=c
    https://example.org/a#b https://-x/a https://exämple.org/a https://example.org:x/a
    https://example.org:99999/a https://[::1/a https://%2dx/a ssh://example.org/a ssh://-oProxyCommand=x/a
    ssh://git@-oProxyCommand=x/a ssh://-x@example.org/a ssh://git:pass@example.org/a
    ssh://git@%2doProxyCommand/a ssh://git@example.org git@-oProxyCommand=x:a/b -x@example.org:a/b
    git@example.org:-x git@example.org::a file://host/srv file:srv file:///srv%00
"""
SPACED = ("", "ext::sh -c touch", "https://exa mple.org/a", "https://example.org/a\nb")


def test_other_texts_are_refused(subtests):
    for text in (*NO_ADDRESSES.split(), *SPACED, "https://example.org/" + "a" * 2_000):
        with subtests.test(case=text[:40]), pytest.raises(AddressNotAllowed):
            parse_address(text)
    with pytest.raises(AddressNotAllowed) as caught:
        parse_address("https://ada:s3cret@example.org/a/b")
    assert "s3cret" not in str(caught.value)


@given(st.text(max_size=60))
def test_any_text_is_an_address_or_refused(text):
    for form in (text, f"https://{text}", f"ssh://{text}", f"file://{text}", f"git@{text}"):
        try:
            address = parse_address(form)
        except AddressNotAllowed:
            continue
        assert not address.url.startswith("-")
        assert "::" not in address.url.split("//")[0]


def test_http_and_private_hosts_need_the_operators_setting(settings, subtests):
    settings.KEBAB_PRIVATE_HOSTS = frozenset({"git.internal", "10.0.0.1"})
    for text in ("http://git.internal/a", "https://10.0.0.1/a", "https://8.8.8.8/a", "git@git.internal:a"):
        check_address(parse_address(text))
    for text in ("http://example.org/a", "https://10.0.0.2/a", "ssh://git@localhost/a", "http://8.8.8.8/a"):
        with subtests.test(case=text), pytest.raises(AddressNotAllowed):
            check_address(parse_address(text))


def test_names_of_references_follow_the_rules_of_git(subtests):
    for name in ["v1", "release/1.0", "größe", "a-b", "a@b"]:
        with subtests.test(case=name):
            assert RequestedRef(name=name).candidates == (f"refs/tags/{name}", f"refs/heads/{name}")
    for name in [
        *("-x", "a..b", "a b", "a~1", "a^", "a:b", "a?", "a*", "a[", "a\\b", "/a", "a/", "a.", ".a", "a/.b"),
        *("a//b", "a.lock", "a.lock/b", "@", "a@{1}", "a\nb", "a\x7f"),
    ]:
        with subtests.test(case=name), pytest.raises(ListingFailed):
            _ = RequestedRef(name=name).candidates


def test_version_has_a_reference_of_its_own():
    assert local_reference("a") != local_reference("b")
    assert len(local_reference("x" * 200)) < 60


def test_malformed_lines_of_a_host_are_left_out():
    assert parse_refs(b"abc\tHEAD\nnonsense\n\tx\n") == {"HEAD": "abc", "x": ""}


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ("fatal: Authentication failed for 'https://x/'", "credentials"),
        ("git@x: Permission denied (publickey).", "private key"),
        ("fatal: unable to access 'x': Could not resolve host: x", "reached"),
        ("fatal: unable to access: The requested URL returned error: 301", "moved"),
        ("fatal: repository 'https://x/' not found", "repository"),
        ("fatal: write error: No space left on device", "disk"),
        ("fatal: SSL certificate problem: self-signed", "certificate"),
    ],
)
def test_messages_of_git_are_explained(told, words):
    assert words in explain(told, 128, ())


def test_other_messages_of_git_lose_secrets_and_control_characters():
    told = "remote: made up\nfatal: odd \x1b[31m https://ada:pw@x.org/a token-1 " + "x" * 500
    shown = explain(told, 1, ("token-1", ""))
    assert "status 1" in shown
    assert not any(part in shown for part in ("ada", "pw@", "token-1", "\x1b", "made up"))
    assert len(shown) < 300


@pytest.fixture(scope="module")
def private_key():
    return generate_private_key(65_537, 2_048)


def test_credentials_fit_their_transport(private_key):
    https, ssh, file = (parse_address(url) for url in ("https://x.org/a", "git@x.org:a", "file:///a"))
    pem = private_key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()).decode()
    locked = private_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"pass"))

    assert parse_credentials({"token": "t"}, https).authorization.startswith("Basic ")
    assert parse_credentials({"private_key": pem.replace("\n", "\r\n").strip()}, ssh).private_key == pem
    for address, refused in (
        (https, {"private_key": pem}),
        (https, {"username": "a:b", "password": "x"}),
        (ssh, {"token": "t"}),
        (ssh, {"private_key": locked.decode()}),
        (file, {"token": "t"}),
        (file, {"private_key": pem}),
    ):
        with pytest.raises(CredentialsRefused):
            parse_credentials(refused, address)


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="needs ssh-keygen")
def test_key_of_ssh_keygen_is_taken_without_a_passphrase(tmp_path):
    texts = []
    for passphrase in ("", "pass"):
        file = tmp_path / f"key{passphrase}"
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-f", str(file)],  # noqa: S607
            check=True,
        )
        texts.append(file.read_text())
    plain, locked = texts
    assert parse_credentials({"private_key": plain}, parse_address("git@x.org:a")).private_key == plain
    with pytest.raises(CredentialsRefused, match="passphrase"):
        parse_credentials({"private_key": locked}, parse_address("git@x.org:a"))
