"""Log in through the account pages."""

from django.contrib.auth import get_user
from django.test import Client

PASSWORD = "ebb tide at four"
OTHER_PASSWORD = "lantern over water"


def sign_in(client: Client, email="ada@example.org", password=PASSWORD, **fields):
    return client.post("/login", {"username": email, "password": password, **fields})


def is_signed_in(client: Client) -> bool:
    return get_user(client).is_authenticated
