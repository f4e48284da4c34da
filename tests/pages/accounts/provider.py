"""A small OpenID Connect provider, over HTTP: discovery, tokens, keys, user info."""

import base64
import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

CLIENT_ID, CLIENT_SECRET = "kebab", "the client's secret"


class Provider(ThreadingHTTPServer):
    """Knows one person at a time, `claims`; tests set what it gets wrong."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.issuer = f"http://127.0.0.1:{self.server_port}"
        self.key = self.signing_key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.claims: dict[str, Any] = {"sub": "7", "email": "ada@example.org", "email_verified": True}
        self.user_info: dict[str, Any] | None = None
        #: Replaces claims of the id_token after they were made.
        self.forged: dict[str, Any] = {}
        self.algorithm: str = "RS256"
        #: Replaces what an address answers: path to (status, bytes).
        self.broken: dict[str, tuple[int, bytes]] = {}
        #: By code that was given out.
        self.challenges: dict[str, str] = {}
        self.token_requests = 0

    def approve(self, address: str) -> dict[str, str]:
        """Log the person in who was redirected to `address`, and return the callback's parameters."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
        assert address.startswith(f"{self.issuer}/authorize?")
        assert asked["client_id"] == CLIENT_ID and asked["response_type"] == "code"
        assert asked["code_challenge_method"] == "S256"
        assert {"openid", "email"} <= set(asked["scope"].split())
        code = f"code-{len(self.challenges)}"
        self.challenges[code] = asked["code_challenge"]
        return {"code": code, "state": asked["state"]}

    def discovery(self) -> dict[str, Any]:
        """Return the discovery document."""
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/keys",
            "userinfo_endpoint": f"{self.issuer}/userinfo",
            "token_endpoint_auth_methods_supported": ["client_secret_post"],
        }

    def tokens(self, form: dict[str, str]) -> tuple[int, dict[str, Any]]:
        """Exchange a code as RFC 6749 and RFC 7636 require."""
        self.token_requests += 1
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        proof = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        challenge = self.challenges.get(form.get("code", ""))
        if (form.get("client_secret"), proof) != (CLIENT_SECRET, challenge):
            return 400, {"error": "invalid_grant"}
        return 200, {"access_token": "an-access-token", "token_type": "Bearer", "id_token": self.id_token()}

    def id_token(self) -> str:
        """Return the signed claims."""
        now = int(datetime.now(UTC).timestamp())
        claims = {
            "iss": self.issuer,
            "aud": CLIENT_ID,
            "iat": now,
            "exp": now + 60,
            **self.claims,
            **self.forged,
        }
        claims = {name: value for name, value in claims.items() if value is not None}
        key: Any = {"none": None, "HS256": "x" * 32}.get(self.algorithm, self.signing_key)
        return jwt.encode(claims, key, algorithm=self.algorithm, headers={"kid": "first"})

    def keys(self) -> dict[str, Any]:
        """Return the public keys."""
        public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(self.key.public_key()))
        return {"keys": [{**public, "kid": "first", "use": "sig", "alg": "RS256"}]}


class _Handler(BaseHTTPRequestHandler):
    server: Provider

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        answers = {
            "/.well-known/openid-configuration": self.server.discovery,
            "/keys": self.server.keys,
            "/userinfo": lambda: self.server.user_info or self.server.claims,
        }
        self._answer(path, 200, answers[path]())

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        form = {name: values[0] for name, values in parse_qs(body).items()}
        self._answer(self.path, *self.server.tokens(form))

    def _answer(self, path: str, status: int, document: Any) -> None:
        status, body = self.server.broken.get(path, (status, json.dumps(document).encode()))
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def running_provider() -> Iterator[Provider]:
    """Run a provider during the block."""
    with Provider() as provider:
        thread = threading.Thread(target=provider.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield provider
        finally:
            provider.shutdown()
            thread.join()
