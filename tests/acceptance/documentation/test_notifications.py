import json

import pytest

from kebab.locations import DOCS
from tests.acceptance.deploy.servers_by_tcp import find_program
from tests.support.http_stub import Exchange, Stub, running
from tests.support.stack import eventually

pytestmark = pytest.mark.slow

# What a web framework hands to the example.
_REQUEST = """
import json, types
request = types.SimpleNamespace(**json.load(open("delivery.json")))
"""
_TOKEN = """kebab shell --no-imports -c '
from kebab.identity.models import User
from kebab.identity.tokens import mint_personal_token
print(mint_personal_token(User.objects.get(), scopes=("search",))[1])'"""


class _Delivery(Exchange):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.server.requests.append({"body": body, "headers": dict(self.headers)})
        self.reply(b"", status=204)


def test_page_can_be_followed(make_reader, handbook):
    find_program("jq", "install Debian's jq", pytest.skip)
    with running(Stub(lambda exchange: None, _Delivery)) as receiver:
        port = receiver.server_address[1]
        reader = make_reader(
            {"https://hooks.example.org": f"http://127.0.0.1:{port}"}, KEBAB_PRIVATE_HOSTS="127.0.0.1"
        )
        run_python = reader.runners["python"]

        def verify(text):
            eventually(lambda: receiver.requests, "the test event arrives")
            (reader.terminal.home / "delivery.json").write_text(json.dumps(receiver.requests[0]))
            return run_python(f"{_REQUEST}{text}assert event['type'] == 'webhook.test'\n")

        reader.runners["python"] = verify
        reader.terminal.serve("kebab up")
        reader.create_account("ann@example.org")
        reader.type(f"kebab ingest {handbook / 'people'} --workspace handbook --create")
        reader.type(_TOKEN)
        reader.follow(DOCS / "notifications.md")
