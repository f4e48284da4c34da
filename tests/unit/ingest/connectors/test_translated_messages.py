"""Messages of failed syncs, which jobs keep in English, in the reader's language."""

import pytest
from django.utils.translation import override

from ingest.connectors.errors import SYNC_FAILED, WRONG_CREDENTIALS, translate_message
from kebab.http_client.connections import AddressRefused, RequestFailed, resolve_permitted


def refusal(host):
    with pytest.raises((AddressRefused, RequestFailed)) as raised:
        resolve_permitted(host, 80, ())
    return f"{host} {raised.value}."


@pytest.mark.parametrize(
    ("message", "german"),
    [
        (WRONG_CREDENTIALS % {"host": "a.example", "remark": " (401)"}, "Passwort oder Token falsch (401)."),
        (f"robots.txt of {refusal('127.0.0.1')}", "robots.txt von 127.0.0.1 ist nicht zu finden"),
        (refusal("missing.invalid"), "missing.invalid ist nicht zu finden"),
    ],
)
def test_message_of_a_failed_sync_is_translated(message, german):
    with override("de"):
        translated = translate_message(SYNC_FAILED % {"error": message})
    assert translated.startswith("Die Synchronisierung ist fehlgeschlagen")
    assert german in translated


def test_other_messages_are_left_as_they_are():
    with override("de"):
        assert (
            translate_message("b.example says: 100 % no (%(host)s).")
            == "b.example says: 100 % no (%(host)s)."
        )
