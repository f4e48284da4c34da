"""What a browser says its session is."""

import pytest


@pytest.mark.django_db
@pytest.mark.parametrize(
    "cookie", ['"\\000' + "a" * 31 + '"', '"\\355\\240\\200' + "a" * 31 + '"', "A" * 32, "a" * 9_000, "a", ""]
)
@pytest.mark.parametrize(
    ("path", "status"), [("/", 302), ("/login", 200), ("/admin/", 302), ("/api/v1/workspaces", 401)]
)
def test_a_cookie_that_holds_no_session_key_is_nobodys(client, cookie, path, status):
    response = client.get(path, headers={"Cookie": f"sessionid={cookie}"})

    assert response.status_code == status
