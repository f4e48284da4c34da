"""Addresses of repositories, names of references, and what git's words become."""

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
from ingest.connectors.git.address import check_address, is_git_address, read_address
from ingest.connectors.git.credentials import read_credentials
from ingest.connectors.git.messages import explain
from ingest.connectors.git.references import Wanted, kept_reference, read_advertised
from ingest.errors import AddressNotAllowed, CredentialsRefused


@pytest.mark.parametrize(
    ("text", "url", "host", "port", "name"),
    [
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
    ],
)
def test_an_address_is_read(text, url, host, port, name):
    address = read_address(text)

    assert (address.url, address.host, address.port, address.name) == (url, host, port, name)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "/srv/repo",
        "./repo",
        "C:/repo",
        "-oProxyCommand=x",
        "--upload-pack=touch",
        "ext::sh -c touch",
        "ext::sh",
        "fd::17/foo",
        "foo::https://example.org/a",
        "git://example.org/a/b",
        "ftp://example.org/a/b",
        "http+git://example.org/a",
        "https://",
        "https:///a/b",
        "https://example.org",
        "https://example.org/",
        "https://example.org/a?b=c",
        "https://example.org/a#b",
        "https://-x/a",
        "https://exa mple.org/a",
        "https://example.org/a\nb",
        "https://exämple.org/a",
        "https://example.org:x/a",
        "https://example.org:99999/a",
        "https://[::1/a",
        "https://%2dx/a",
        "ssh://example.org/a",
        "ssh://-oProxyCommand=x/a",
        "ssh://git@-oProxyCommand=x/a",
        "ssh://-x@example.org/a",
        "ssh://git:pass@example.org/a",
        "ssh://git@%2doProxyCommand/a",
        "ssh://git@example.org",
        "git@-oProxyCommand=x:a/b",
        "-x@example.org:a/b",
        "git@example.org:-x",
        "git@example.org::a",
        "file://host/srv",
        "file:srv",
        "file:///srv%00",
        "https://example.org/" + "a" * 2_000,
    ],
)
def test_what_is_no_address_that_may_be_read_is_refused(text):
    with pytest.raises(AddressNotAllowed):
        read_address(text)


def test_a_refusal_repeats_no_password():
    with pytest.raises(AddressNotAllowed) as caught:
        read_address("https://ada:s3cret@example.org/a/b")
    assert "s3cret" not in str(caught.value)


@given(st.text(max_size=60))
def test_any_text_is_an_address_or_refused(text):
    for form in (text, f"https://{text}", f"ssh://{text}", f"file://{text}", f"git@{text}"):
        is_git_address(form)
        try:
            address = read_address(form)
        except AddressNotAllowed:
            continue
        assert not address.url.startswith("-")
        assert "::" not in address.url.split("//")[0]


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("https://example.org/a/b.git", True),
        ("https://github.com/a/b", True),
        ("https://github.com/a/b/", True),
        ("https://github.com/a/b/wiki", False),
        ("https://example.org/docs", False),
        ("git@example.org:a/b", True),
        ("ssh://git@example.org/a", True),
        ("file:///srv/a", True),
        ("ext::sh", True),
        ("docs/a.md", False),
        ("/srv/docs", False),
    ],
)
def test_a_command_line_tells_repositories_from_other_things(text, is_one):
    assert is_git_address(text) is is_one


def test_http_and_private_hosts_are_for_the_operator_to_allow(settings):
    settings.KEBAB_PRIVATE_HOSTS = frozenset({"git.internal", "10.0.0.1"})
    for text in ("http://git.internal/a", "https://10.0.0.1/a", "https://8.8.8.8/a", "git@git.internal:a"):
        check_address(read_address(text))
    for text in ("http://example.org/a", "https://10.0.0.2/a", "ssh://git@localhost/a", "http://8.8.8.8/a"):
        with pytest.raises(AddressNotAllowed):
            check_address(read_address(text))


@pytest.mark.parametrize(
    "name",
    [
        *("-x", "a..b", "a b", "a~1", "a^", "a:b", "a?", "a*", "a[", "a\\b", "/a", "a/", "a.", ".a", "a/.b"),
        *("a//b", "a.lock", "a.lock/b", "@", "a@{1}", "a\nb", "a\x7f"),
    ],
)
def test_what_git_would_not_name_a_reference_is_refused(name):
    with pytest.raises(ListingFailed, match="can't be the name"):
        _ = Wanted(name=name).candidates


@pytest.mark.parametrize("name", ["v1", "release/1.0", "größe", "a-b", "a@b"])
def test_names_of_references_are_taken(name):
    assert Wanted(name=name).candidates == (f"refs/tags/{name}", f"refs/heads/{name}")


def test_a_version_has_a_reference_of_its_own():
    assert kept_reference("a") != kept_reference("b")
    assert len(kept_reference("x" * 200)) < 60


def test_lines_of_a_host_that_are_none_are_left_out():
    assert read_advertised(b"abc\tHEAD\nnonsense\n\tx\n") == {"HEAD": "abc", "x": ""}


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ("fatal: Authentication failed for 'https://x/'", "credentials"),
        ("git@x: Permission denied (publickey).", "private key"),
        ("fatal: unable to access 'x': Could not resolve host: x", "can't be reached"),
        ("fatal: unable to access: The requested URL returned error: 301", "has moved"),
        ("fatal: repository 'https://x/' not found", "no repository"),
        ("fatal: write error: No space left on device", "disk is full"),
        ("fatal: SSL certificate problem: self-signed", "certificate"),
    ],
)
def test_git_is_put_in_words(told, words):
    assert words in explain(told, 128, ())


def test_other_words_of_git_lose_secrets_and_control_characters():
    told = "remote: made up\nfatal: odd \x1b[31m https://ada:pw@x.org/a token-1 " + "x" * 500
    shown = explain(told, 1, ("token-1", ""))

    assert "status 1" in shown
    assert not any(part in shown for part in ("ada", "pw@", "token-1", "\x1b", "made up"))
    assert len(shown) < 300


def test_credentials_fit_their_transport():
    https, ssh, file = (read_address(url) for url in ("https://x.org/a", "git@x.org:a", "file:///a"))
    key = generate_private_key(65_537, 2_048)
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()).decode()

    assert read_credentials({"token": "t"}, https).authorization.startswith("Basic ")
    assert read_credentials({"private_key": pem.replace("\n", "\r\n").strip()}, ssh).private_key == pem
    for address, given_ in (
        (https, {"private_key": pem}),
        (https, {"username": "a:b", "password": "x"}),
        (ssh, {"token": "t"}),
        (file, {"token": "t"}),
        (file, {"private_key": pem}),
    ):
        with pytest.raises(CredentialsRefused):
            read_credentials(given_, address)


def test_a_key_behind_a_passphrase_is_refused():
    key = generate_private_key(65_537, 2_048)
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"pass")).decode()
    with pytest.raises(CredentialsRefused, match="passphrase"):
        read_credentials({"private_key": pem}, read_address("git@x.org:a"))


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="needs ssh-keygen")
@pytest.mark.parametrize(("passphrase", "is_taken"), [("", True), ("pass", False)])
def test_a_key_as_ssh_writes_it_is_taken_without_a_passphrase(tmp_path, passphrase, is_taken):
    file = tmp_path / "key"
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-f", str(file)],  # noqa: S607
        check=True,
    )
    given_ = {"private_key": file.read_text()}
    if is_taken:
        assert read_credentials(given_, read_address("git@x.org:a")).private_key == file.read_text()
        return
    with pytest.raises(CredentialsRefused, match="passphrase"):
        read_credentials(given_, read_address("git@x.org:a"))


def test_a_file_address_names_its_folder():
    assert read_address("file:///srv/a%20b").folder == Path("/srv/a b")
