"""A field is recognised in a request exactly when its reader will parse it."""

import json

from django.http import QueryDict
from hypothesis import given
from hypothesis import strategies as st

from kebab.http.admission.gate import json_field_pattern, query_field_pattern
from search.api.query_fields import AwaitedSeqField

NAME = "min_seq"


def spellings(escape):
    """Return spellings of the name, of similar names and of the empty string."""
    letters = [
        st.sampled_from([letter, escape % ord(letter), (escape % ord(letter)).upper().replace("U", "u")])
        for letter in NAME
    ]
    return st.one_of(
        st.tuples(*letters).map("".join),
        st.sampled_from(["min_se", "xmin_seq", "min_seqx", "min%255Fseq", "min+seq", "MIN_SEQ", ""]),
    )


@given(
    st.lists(
        st.tuples(
            spellings("%%%02x"), st.sampled_from(["", "=", "=7", "=%37", "=+7", "=min_seq=7", "=a;min_seq=7"])
        ),
        max_size=3,
    ),
    st.sampled_from(["&", "&&", ";"]),
)
def test_query_field_is_seen_exactly_when_django_reads_it(pairs, between):
    query = between.join(name + value for name, value in pairs)
    assert bool(query_field_pattern(NAME).search(query.encode())) is (NAME in QueryDict(query))


@given(
    spellings("\\u%04x"),
    st.sampled_from(["", " ", "\n\t  "]),
    st.sampled_from(["7", '"7"', '"+7"', "[]", "null"]),
)
def test_body_field_is_seen_exactly_when_json_has_it_and_it_is_not_null(name, space, value):
    body = f'{{"q": "min_seq", "filters": [{{"{name}"{space}:{space}{value}}}]}}'
    (inner,) = json.loads(body)["filters"]
    assert bool(json_field_pattern(NAME).search(body.encode())) is (inner.get(NAME) is not None)


def test_change_that_a_search_accepts_is_seen(subtests):
    for value in ("7", "+7", " 7", "007", "7.0", "\u0667", "7-1f"):
        with subtests.test(value=value):
            assert AwaitedSeqField().run_validation(value)[0] == 7
            assert json_field_pattern(NAME).search(json.dumps({NAME: value}).encode())
