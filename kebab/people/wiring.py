"""The extension of the app `people`."""

from kebab.extension import Extension
from kebab.people.pages.tabs import TABS

EXTENSION = Extension(tabs=TABS, listings="kebab.people.listings.LISTINGS")
