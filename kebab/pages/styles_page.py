"""The style page: every component of the pages at one glance, in debug mode."""

from django.conf import settings
from django.http import Http404, HttpResponse
from django.shortcuts import render

from kebab.pages.page import Page


@Page.of()
def styles_page(page: Page) -> HttpResponse:
    """Return the components of the pages at one glance. Raises Http404 unless in debug mode."""
    if not settings.DEBUG:
        raise Http404
    return render(page.request, "pages/styles.html")
