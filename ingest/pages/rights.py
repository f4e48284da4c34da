"""What a page asks of its visitor is what the API asks for the same thing."""

from ingest.api.sources.views import SourcesView
from kebab.http.api.errors import Forbidden
from kebab.http.api.permissions import Need
from kebab.people.access.caller import Access

#: Seeing sources, jobs and the quarantine.
READ = SourcesView.required["GET"]
#: Putting documents in, and acting on sources, jobs and the quarantine.
CHANGE = SourcesView.required["POST"]


def may(access: Access, need: Need) -> bool:
    """Return whether a page offers what needs this."""
    try:
        need.check(access)
    except Forbidden:
        return False
    return True
