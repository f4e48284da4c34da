"""Addresses of repositories and projects, and of the APIs that are derived from them."""

import pytest

from ingest.connectors.records.github import github_api
from ingest.connectors.records.gitlab import gitlab_api
from ingest.connectors.records.issues import parse_forge
from ingest.errors import AddressNotAllowed


@pytest.mark.parametrize(
    ("config", "path", "api"),
    [
        ({"url": "https://github.com/octo/notes"}, "octo/notes", "https://api.github.com/"),
        ({"url": "https://github.com/octo/notes.git/"}, "octo/notes", "https://api.github.com/"),
        ({"url": "https://octo.ghe.com/a/b"}, "a/b", "https://api.octo.ghe.com/"),
        ({"url": "https://git.example.org/a/b"}, "a/b", "https://git.example.org/api/v3"),
        (
            {"url": "https://git.example.org/a/b", "api_url": "https://api.example.org/"},
            "a/b",
            "https://api.example.org/",
        ),
    ],
)
def test_repository_of_github_has_an_api(config, path, api):
    found = parse_forge(config, github_api)
    assert (found.path, found.api.url) == (path, api)


@pytest.mark.parametrize(
    ("config", "path", "api"),
    [
        ({"url": "https://gitlab.com/a/b/c"}, "a/b/c", "https://gitlab.com/api/v4"),
        (
            {"url": "https://example.org/gitlab/a/b", "api_url": "https://example.org/gitlab/api/v4"},
            "a/b",
            "https://example.org/gitlab/api/v4",
        ),
    ],
)
def test_project_of_gitlab_has_an_api_also_below_a_path(config, path, api):
    found = parse_forge(config, gitlab_api)
    assert (found.path, found.api.url) == (path, api)


@pytest.mark.parametrize("url", ["https://github.com/octo", "https://github.com/", "ssh://github.com/a/b"])
def test_address_of_no_repository_is_refused(url):
    with pytest.raises(AddressNotAllowed):
        parse_forge({"url": url}, github_api)
