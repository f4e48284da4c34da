"""The sync and the async client."""

from typing import Any, Final, Self

import httpx

from kebab_client.operations import Operations
from kebab_client.runners import AsyncRunner, Runner

# A language model may take minutes for its answer.
_TIMEOUT: Final = httpx.Timeout(600.0, connect=10.0)


class Client(Operations, Runner):
    """Client of a Kebab server, with a token.

    `address` is that of the site, as `https://kebab.example.org`; `options` go to `httpx.Client`. When the
    server is busy, away or out of reach, requests that may be repeated are, up to `retries` times.
    """

    def __init__(self, address: str, token: str, *, retries: int = 3, **options: Any) -> None:
        super().__init__(httpx.Client(**_http_options(address, token, options)), retries)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()


class AsyncClient(Operations, AsyncRunner):
    """The same for asyncio and trio: methods are awaited, lists are read with `async for`."""

    def __init__(self, address: str, token: str, *, retries: int = 3, **options: Any) -> None:
        super().__init__(httpx.AsyncClient(**_http_options(address, token, options)), retries)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_exception: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()


def _http_options(address: str, token: str, options: dict[str, Any]) -> dict[str, Any]:
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/json", "User-Agent": "kebab-client"}
    return {
        "timeout": _TIMEOUT,
        **options,
        "base_url": f"{address.rstrip('/')}/api/v1",
        "headers": {**headers, **options.get("headers", {})},
    }
