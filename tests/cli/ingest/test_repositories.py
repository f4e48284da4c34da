"""Sources made from a git repository's address, and their credentials."""

import json

import pytest
from cryptography.fernet import Fernet

from ingest.connectors.git.credentials import decrypt_credentials
from ingest.models import Job
from kebab.cli.errors import CliError
from kebab.identity.models import AuditEvent
from search.models import Source
from tests.cli.commands import error_of
from tests.cli.ingest.asking import ask
from tests.support.corpus import make_workspace

HTTPS = "https://github.com/owner/My_Repo.git"


@pytest.fixture
def workspace(db, settings):
    settings.KEBAB_ENCRYPTION_KEYS = [Fernet.generate_key().decode()]
    return make_workspace()


def test_address_becomes_a_source_and_a_version_its_tag(workspace):
    job = ask(workspace, HTTPS, "--version", "v1", "--tag", "a")
    source = Source.objects.get()

    assert (source.key, source.kind, source.config) == ("my-repo", "git", {"url": HTTPS})
    assert source.library_id == "/owner/My_Repo"
    assert (job.payload, source.default_tags) == ({"version": "v1"}, ["a"])
    ask(workspace, HTTPS)
    assert Source.objects.count() == 1
    with pytest.raises(CliError, match="--source"):
        ask(workspace, "https://gitlab.com/other/my-repo")


def test_operator_may_name_any_folder_with_its_links_followed(workspace, tmp_path, settings):
    settings.KEBAB_FOLDER_ROOTS = []
    (tmp_path / "origin.git").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "origin.git")
    for _ in range(2):
        ask(workspace, f"file://{tmp_path}/link")
    source = Source.objects.get()
    assert (source.config["url"], source.key) == (f"file://{tmp_path}/origin.git", "link")


def test_credentials_are_kept_until_replaced_and_never_audited(workspace, tmp_path):
    given = tmp_path / "credentials.json"
    given.write_text('{"token": "s3cret"}')
    ask(workspace, HTTPS, "--credentials", given)
    ask(workspace, HTTPS)

    assert decrypt_credentials(Source.objects.get().sealed_credentials).password == "s3cret"
    assert "s3cret" not in json.dumps(list(AuditEvent.objects.values_list("detail", flat=True)))
    given.write_text('{"private_key": "x"}')
    with pytest.raises(CliError) as refused:
        ask(workspace, HTTPS, "--credentials", given)
    assert refused.value.code == "credentials_refused"


def test_file_without_credentials_is_refused_and_not_repeated(workspace, tmp_path, subtests):
    file = tmp_path / "credentials.json"
    for content in ("{", "[]", "{}", '{"token": "a", "password": "s3cret"}', '{"x": "s3cret"}'):
        file.write_text(content)
        with subtests.test(content=content):
            error = error_of(
                "ingest", HTTPS, "--workspace", workspace.slug, "--credentials", str(file), code=2
            )
            assert error["code"] in {"credentials_refused", "invalid_request", "unknown_field"}
            assert "s3cret" not in json.dumps(error)
    assert not Job.objects.exists()
