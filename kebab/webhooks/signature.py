"""Signatures of deliveries by Standard Webhooks (https://www.standardwebhooks.com): v1, HMAC-SHA256."""

import base64
import secrets
from datetime import datetime
from typing import Final

from standardwebhooks import Webhook

_SECRET_BYTES: Final = 32


def mint_secret() -> str:
    """Return a new secret of an endpoint."""
    return f"whsec_{base64.b64encode(secrets.token_bytes(_SECRET_BYTES)).decode()}"


def signed_headers(secret: str, message_id: str, at: datetime, body: str) -> dict[str, str]:
    """Return the headers that identify and sign a delivery; `at` is in UTC."""
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": Webhook(secret).sign(message_id, at, body),
    }
