import runpy
import traceback

import pytest
from django.core.exceptions import ImproperlyConfigured

import kebab.settings as shipped

REFUSED = [
    ({"KEBAB_RATE_LIMIT": "many"}, ["KEBAB_RATE_LIMIT", "'many'", "100/minute"]),
    ({"KEBAB_SIGN_IN_LIMIT": "0/minute"}, ["KEBAB_SIGN_IN_LIMIT", "'0/minute'"]),
    ({"KEBAB_TRUSTED_PROXIES": "proxy"}, ["KEBAB_TRUSTED_PROXIES", "'proxy'"]),
    ({"KEBAB_URL": "kebab.example.org"}, ["KEBAB_URL", "https://"]),
    ({"KEBAB_URL": "https://x:s3cret@kebab.example.org"}, ["KEBAB_URL", "https://"]),
    ({"KEBAB_EMAIL_URL": "http://mail:s3cret@x"}, ["KEBAB_EMAIL_URL", "smtp://"]),
    ({"KEBAB_EMAIL_URL": "smtp://mail:s3cret/x@mail.example.org"}, ["KEBAB_EMAIL_URL", "%XX"]),
    ({"KEBAB_OIDC_ISSUER": "https://id.example.org"}, ["KEBAB_OIDC_CLIENT_SECRET"]),
    (
        {
            "KEBAB_OIDC_ISSUER": "http://id.example.org",
            "KEBAB_OIDC_CLIENT_ID": "kebab",
            "KEBAB_OIDC_CLIENT_SECRET": "s3cret",
        },
        ["https://"],
    ),
    *[
        ({name: "0"}, [name, "0"])
        for name in (
            "KEBAB_WEB_WORKERS",
            "KEBAB_WEB_THREADS",
            "KEBAB_WEB_STREAMS",
            "KEBAB_WORKER_SLOTS",
            "KEBAB_LEASE_S",
        )
    ],
]


@pytest.fixture
def settings_with(monkeypatch):
    def read(**environment):
        with monkeypatch.context() as patch:
            for name, value in environment.items():
                patch.setenv(name, value)
            return runpy.run_path(shipped.__file__)

    return read


def test_wrong_setting_is_refused_at_the_start_without_its_secrets(settings_with, subtests):
    for environment, named in REFUSED:
        with subtests.test(environment=environment):
            with pytest.raises(ImproperlyConfigured) as refusal:
                settings_with(**environment)
            text = "".join(traceback.format_exception(refusal.value))
            assert [part for part in named if part not in str(refusal.value)] == []
            assert "s3cret" not in text


def test_mails_are_files_until_a_server_is_named(settings_with):
    assert settings_with()["EMAIL_BACKEND"].endswith("filebased.EmailBackend")
    named = settings_with(KEBAB_EMAIL_URL="smtp://user:p%40ss@mail.example.org")
    assert named["EMAIL_BACKEND"].endswith("smtp.EmailBackend")
