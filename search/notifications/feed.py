"""The Atom feed of a saved search, read by programs that know its secret address."""

import re
import uuid
from typing import Final

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.utils.feedgenerator import Atom1Feed
from django.views import View
from django.views.decorators.cache import cache_control
from django.views.decorators.http import conditional_page

from kebab.http.rate_limits.middleware import refusal_page
from kebab.http.site_address import site_address
from kebab.identity.caller import Access
from kebab.tenancy.current_workspace import acting_in
from search.models import SavedSearch
from search.notifications.alerts import newest_matches
from search.notifications.saved_searches import find_feed, page_address
from search.retrieval.errors import SearchError

_ENTRIES: Final = 50
# XML 1.0, section 2.2
_NO_XML: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


@method_decorator([cache_control(private=True, max_age=60), conditional_page], name="dispatch")
class FeedView(View):
    """The feed of the saved search whose secret is in the address, under the rights of its owner."""

    http_method_names = ("get", "head")

    def get(self, request: HttpRequest, secret: str) -> HttpResponse:
        """Return the matching documents, newest first. Raises Http404 for an unknown or ended address."""
        found = find_feed(secret)
        if found is None:
            raise Http404
        saved, access = found
        try:
            with acting_in(access.workspace.pk):
                feed = _build_feed(saved, access, site_address(request), request.path)
        except SearchError as error:
            return refusal_page(request, error)
        return HttpResponse(feed.writeString("utf-8"), content_type="application/atom+xml; charset=utf-8")


def _build_feed(saved: SavedSearch, access: Access, site: str, own_path: str) -> Atom1Feed:
    slug = access.workspace.slug
    feed = Atom1Feed(
        title=_xml_text(f"{saved.name} · {access.workspace.name}"),
        link=site + (page_address(saved) or reverse("search", args=[slug])),
        description=_xml_text(saved.text),
        feed_url=site + own_path,
        feed_guid=f"urn:uuid:{saved.pk}",
    )
    for hit in newest_matches(saved, access, limit=_ENTRIES):
        feed.add_item(
            title=_xml_text(hit.title or hit.doc_path),
            link=site + reverse("document", args=[slug, uuid.UUID(hex=hit.doc_id)]),
            description=_xml_text(hit.snippet),
            unique_id=f"urn:kebab:{access.workspace.corpus_id}:{hit.doc_id}",
            author_name=hit.author and _xml_text(hit.author),
            pubdate=hit.date,
            updateddate=hit.date,
        )
    return feed


def _xml_text(text: str) -> str:
    """Return `text` with spaces in place of the characters that XML can't contain."""
    return _NO_XML.sub(" ", text)
