"""Types of ASGI applications."""

from collections.abc import Awaitable, Callable

from asgiref.typing import ASGIReceiveCallable, ASGISendCallable, HTTPScope

#: An application that answers HTTP requests alone.
HttpApplication = Callable[[HTTPScope, ASGIReceiveCallable, ASGISendCallable], Awaitable[None]]
