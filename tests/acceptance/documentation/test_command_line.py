import json

import pytest

from kebab.locations import DOCS
from tests.acceptance.deploy.servers_by_tcp import find_program

pytestmark = pytest.mark.slow

_FILES = {
    "rooms/rooms.md": "---\ndate: 2026-02-01\n---\n# Meeting rooms\n\nThey are on the second floor.\n",
    "notes/projector.md": "# Projector\n\nLoveday Angove books the projector for you.\n",
    "minutes/2026-03-03.md": (
        "# Board, 3 March\n\n## Travel\n\nTrips within Europe need no approval. Longer ones are approved by"
        " the head of the team.\n\n## Budget\n\nThe budget for training rises to 1,200 euros a person.\n"
    ),
    "minutes/2026-04-07.md": (
        "# Board, 7 April\n\n## Parental leave\n\nLeave is announced seven weeks before it begins.\n"
    ),
}
_ADD = """kebab api POST '/workspaces/{ws}/members' --data '{"email": "ada@example.org", "role": "viewer"}'"""


def test_page_can_be_followed(make_reader):
    find_program("jq", "install Debian's jq", pytest.skip)
    reader = make_reader(KEBAB_EMBEDDER="english")
    reader.write(_FILES)
    reader.terminal.serve("kebab up")
    reader.type("kebab ingest rooms --workspace handbook --create")
    reader.type("kebab token create --workspace handbook --scope search,ask,ingest")
    reader.create_account("ada@example.org")
    number = json.loads(reader.type(_ADD))["user_id"]
    reader.type(f"kebab api DELETE '/workspaces/{{ws}}/members/{number}'")
    reader.replaced["members/7"] = f"members/{number}"
    reader.follow(DOCS / "command-line.md")
