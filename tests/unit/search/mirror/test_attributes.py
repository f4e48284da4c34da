"""Counting documents by the values of an attribute, with lists and with bits."""

import numpy as np
import pytest

from search.mirror.query.attributes import Attribute, DocumentBits, DocumentLists

# Documents by value; one has two of them.
_DOCS = {"open": [1, 5, 130], "closed": [2, 5], "": [64]}


def lists_of(docs):
    rows = [row for of_value in docs.values() for row in of_value]
    return DocumentLists(np.array(rows, np.int64), np.cumsum([0, *map(len, docs.values())])[:-1])


@pytest.mark.parametrize("convert", [lambda lists: lists, DocumentBits.of], ids=["lists", "bits"])
@pytest.mark.parametrize(
    ("size", "matching", "counts"),
    [
        (131, [1, 2, 5, 64, 130], {"open": 3, "closed": 2, "": 1}),
        (131, [0, 3, 129], {}),
        (70, [5, 64], {"open": 1, "closed": 1, "": 1}),  # later documents are none
        (1_000, [130, 131, 999], {"open": 1}),
    ],
)
def test_values_of_matching_documents_are_counted(convert, size, matching, counts):
    attribute = Attribute(tuple(_DOCS), convert(lists_of(_DOCS)))
    mask = np.zeros(size, bool)
    mask[matching] = True
    assert attribute.counts(mask) == counts


def test_an_attribute_without_values_counts_nothing():
    assert Attribute((), DocumentBits.of(lists_of({}))).counts(np.ones(3, bool)) == {}
