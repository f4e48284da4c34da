"""What the environment may say about limits, mail and the provider."""

import os
import subprocess
import sys

import pytest


def settings_with(**environment):
    command = [sys.executable, "-c", "import kebab.settings as s; print(s.KEBAB_RATE_LIMIT, s.EMAIL_BACKEND)"]
    return subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({"KEBAB_RATE_LIMIT": "many"}, "KEBAB_RATE_LIMIT is 'many'; give something like 100/minute"),
        ({"KEBAB_SIGN_IN_LIMIT": "0/minute"}, "KEBAB_SIGN_IN_LIMIT is '0/minute'"),
        ({"KEBAB_TRUSTED_PROXIES": "proxy"}, "KEBAB_TRUSTED_PROXIES: 'proxy'"),
        ({"KEBAB_URL": "kebab.example.org"}, "KEBAB_URL is no address like https://"),
        ({"KEBAB_URL": "https://x:s3cret@kebab.example.org"}, "KEBAB_URL is no address like https://"),
        ({"KEBAB_EMAIL_URL": "http://mail:s3cret@x"}, "KEBAB_EMAIL_URL is no smtp://"),
        ({"KEBAB_EMAIL_URL": "smtp://mail:s3cret/x@mail.example.org"}, "write signs in a password as %XX"),
        ({"KEBAB_OIDC_ISSUER": "https://id.example.org"}, "KEBAB_OIDC_CLIENT_SECRET must be set too"),
        (
            {
                "KEBAB_OIDC_ISSUER": "http://id.example.org",
                "KEBAB_OIDC_CLIENT_ID": "kebab",
                "KEBAB_OIDC_CLIENT_SECRET": "s3cret",
            },
            "give an https:// address",
        ),
    ],
)
def test_a_wrong_setting_is_told_at_the_start_without_secrets(environment, said):
    result = settings_with(**environment)

    assert result.returncode != 0
    assert said in result.stderr
    assert "s3cret" not in result.stderr


@pytest.mark.parametrize(
    "name",
    ["KEBAB_WEB_WORKERS", "KEBAB_WEB_THREADS", "KEBAB_WEB_STREAMS", "KEBAB_WORKER_SLOTS", "KEBAB_LEASE_S"],
)
def test_nothing_starts_with_room_for_nobody(name):
    result = settings_with(**{name: "0"})

    assert result.returncode != 0
    assert f"{name} is 0; give a whole number from 1 on." in result.stderr


def test_mails_are_files_until_a_server_is_named():
    assert settings_with().stdout.split()[1].endswith("filebased.EmailBackend")
    named = settings_with(KEBAB_EMAIL_URL="smtp://user:p%40ss@mail.example.org")
    assert named.stdout.split()[1].endswith("smtp.EmailBackend")
