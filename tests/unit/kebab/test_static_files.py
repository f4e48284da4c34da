"""Addresses of static files."""

from django.templatetags.static import static

from kebab.http.security_headers import EMBEDDED_PATH
from kebab.http.static_files import HashedStaticFiles


def test_address_has_the_hash_of_the_content_and_a_missing_file_none():
    storage = HashedStaticFiles()

    address = storage.url("kebab/base.css")
    assert address.startswith("/static/kebab/base.css?v=") and address == static("kebab/base.css")
    assert storage.url("kebab/frame.css").partition("?")[2] != address.partition("?")[2]
    assert storage.url("kebab/none.css") == "/static/kebab/none.css"


def test_file_is_kept_by_browsers(client, db):
    response = client.get(static("kebab/base.css"))
    response.close()

    assert response["Cache-Control"] == "max-age=315360000, public, immutable"


def test_script_that_other_sites_embed_by_one_address_is_asked_for_again(client, db):
    response = client.get(EMBEDDED_PATH)
    response.close()

    assert "immutable" not in response["Cache-Control"] and "max-age=60" in response["Cache-Control"]
