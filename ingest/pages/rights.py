"""Rights required by the pages: those that the API requires for the same operation."""

from ingest.api.sources.views import SourcesView
from kebab.http.api.errors import Forbidden
from kebab.http.api.permissions import Need
from kebab.people.access.caller import Access

#: The right to see sources, jobs and the quarantine.
READ = SourcesView.required["GET"]
#: The right to upload documents, and to act on sources, jobs and the quarantine.
CHANGE = SourcesView.required["POST"]


def is_allowed(access: Access, need: Need) -> bool:
    """Return whether the caller has the right, so that a page offers the operation."""
    try:
        need.check(access)
    except Forbidden:
        return False
    return True
