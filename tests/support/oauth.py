"""An OAuth client of tests, and the browser of the person who connects it."""

import base64
import hashlib
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlencode, urlsplit

from django.test import Client

from kebab.identity.models import Membership

SITE = "http://127.0.0.1"
RESOURCE = f"{SITE}/mcp"
REDIRECT = "https://app.example/callback"
VERIFIER = "v" * 64
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).decode().rstrip("=")
REQUEST = {
    "response_type": "code",
    "redirect_uri": REDIRECT,
    "code_challenge": CHALLENGE,
    "code_challenge_method": "S256",
    "resource": RESOURCE,
    "scope": "search",
    "state": '{"a": 1}',
}


@dataclass(kw_only=True)
class App:
    """A registered client."""

    client_id: str
    http: Client = field(default_factory=lambda: browser())

    def authorize_path(self, **changed):
        """Return the address that it opens in the person's browser; a value of None is left out."""
        given = REQUEST | {"client_id": self.client_id} | changed
        return "/oauth/authorize?" + urlencode({k: v for k, v in given.items() if v is not None})

    def consent(self, person, *, decision="allow", workspaces=None, **changed):
        """Let a signed-in person decide; return the parameters that come back to the client."""
        response = self.decide(person, decision=decision, workspaces=workspaces, **changed)
        assert response.status_code == 302, response.content
        return dict(parse_qsl(urlsplit(response["Location"]).query))

    def decide(self, person, *, decision="allow", workspaces=None, **changed):
        """Let a signed-in person decide; return the response."""
        chosen = workspaces
        if chosen is None:
            chosen = [str(row.workspace_id) for row in Membership.objects.filter(user=person)]
        page = browser()
        page.force_login(person)
        return page.post(
            self.authorize_path(**changed), {"decision": decision, "workspaces": list(map(str, chosen))}
        )

    def exchange(self, code, **changed):
        """Exchange a code; return the response."""
        given = {"grant_type": "authorization_code", "code": code, "redirect_uri": REDIRECT}
        return self._post("token", given | {"code_verifier": VERIFIER} | changed)

    def refresh(self, token, **changed):
        """Exchange a refresh token; return the response."""
        return self._post("token", {"grant_type": "refresh_token", "refresh_token": token} | changed)

    def revoke(self, token):
        """Revoke a token; return the response."""
        return self._post("revoke", {"token": token})

    def connect(self, person, **changed):
        """Return the token response for a person's consent."""
        response = self.exchange(self.consent(person, **changed)["code"])
        assert response.status_code == 200, response.content
        return response.json()

    def _post(self, endpoint, fields):
        return self.http.post(f"/oauth/{endpoint}", {"client_id": self.client_id} | fields)


def browser(**options):
    """Return a browser at the site."""
    return Client(headers={"host": "127.0.0.1"}, **options)


def register(**metadata):
    """Return the response to a registration."""
    given = {"client_name": "App", "redirect_uris": [REDIRECT]} | metadata
    return browser().post("/oauth/register", given, content_type="application/json")


def make_app(**metadata):
    """Return a registered client."""
    response = register(**metadata)
    assert response.status_code == 201, response.content
    return App(client_id=response.json()["client_id"])
