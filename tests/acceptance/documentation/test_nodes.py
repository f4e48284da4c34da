import pytest

from kebab.locations import DOCS

pytestmark = pytest.mark.slow

_ENDED_NODE = """kebab shell --no-imports -c '
from datetime import timedelta
from django.utils.timezone import now
from kebab.stack.models import StackProcess
ended = now() - timedelta(minutes=5)
times = {"started_at": ended, "heartbeat_at": ended}
StackProcess.objects.create(node="node-b", role="web", name="web", pid=1, **times)'"""


def test_page_can_be_followed(make_reader, handbook):
    reader = make_reader()
    reader.terminal.serve("kebab up")
    reader.type(f"kebab ingest {handbook / 'finance'} --workspace handbook --create")
    reader.before["kebab node forget"] = _ENDED_NODE
    reader.follow(DOCS / "operations" / "nodes.md")
