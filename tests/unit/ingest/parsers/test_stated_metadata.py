"""Author and dates under the names that all formats share."""

import pytest

from ingest.parsers.stated_metadata import stated_metadata


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({"Author": "Ada Byron", "Date": "2024-05-31"}, {"author": "Ada Byron", "created": "2024-05-31"}),
        # What programs write where nobody states an author.
        ({"author": "(anonymous)", "created": "2024-05-31"}, {"created": "2024-05-31"}),
        ({"author": ["openpyxl", "Ada Byron"]}, {"author": "Ada Byron"}),
        # The dates of a library's template say nothing of a document.
        ({"author": "python-docx", "created": "2013-12-23"}, {}),
    ],
)
def test_metadata_filled_in_by_programs_is_ignored(fields, found):
    assert stated_metadata(fields) == found
