"""Client of Kebab's HTTP API."""

from kebab_client.client import AsyncClient, Client
from kebab_client.errors import KebabError

__all__ = ["AsyncClient", "Client", "KebabError"]
