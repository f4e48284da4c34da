"""Bodies of a model's answers, unpacked and limited piece by piece."""

import zlib

import httpcore2
import pytest

from kebab.http_client.connections import ResponseTooLarge
from kebab.http_client.decompress import make_inflater
from search.answers.model.chat_model import MAX_ANSWER_BYTES, MAX_PARSED_BYTES, CallBody


def read(*pieces, encoding=""):
    response = httpcore2.Response(200, content=iter(pieces))
    body = CallBody(response, make_inflater(encoding, MAX_ANSWER_BYTES))
    return b"".join(body), body.is_done


@pytest.mark.parametrize("end", [b"\n\n", b"\r\n\r\n", b"\r\r"])
def test_events_split_at_any_byte_are_read(end):
    event = b"data: " + b"x" * 300_000 + end
    cuts = [event[:-1], end[-1:]] * 6
    assert read(*cuts, b"data: [DONE]") == (event * 6 + b"data: [DONE]", True)


@pytest.mark.parametrize(
    "pieces",
    [
        [b"x" * (MAX_PARSED_BYTES + 1)],
        [b"data: 1\n" * (MAX_PARSED_BYTES // 8 + 1) + b"\n"],
        [b"data: 1\n"] * (MAX_PARSED_BYTES // 8 + 1),
        [b"x" * 998 + b"\n\n"] * (MAX_ANSWER_BYTES // 1_000 + 1),
    ],
)
def test_long_events_and_answers_are_refused(pieces):
    with pytest.raises(ResponseTooLarge):
        read(*pieces)


def test_packed_answer_is_unpacked_and_limited():
    assert read(zlib.compress(b"data: [DONE]\n\n"), encoding="deflate") == (b"data: [DONE]\n\n", True)
    with pytest.raises(ResponseTooLarge):
        read(zlib.compress(b"x" * (MAX_PARSED_BYTES + 1)), encoding="gzip")
