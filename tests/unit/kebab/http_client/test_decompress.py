"""Decompression with a limit."""

import gzip
import zlib

import pytest

from kebab.http_client.connections import RequestFailed, ResponseTooLarge
from kebab.http_client.decompress import Inflater, inflate


def test_packed_content_comes_out(subtests):
    for pack in (gzip.compress, zlib.compress):
        with subtests.test(pack=pack):
            content = bytes(range(256)) * 1_000
            packed = pack(content)
            inflater = Inflater(len(content))
            pieces = [inflater.feed(packed[at : at + 7]) for at in range(0, len(packed), 7)]
            inflater.finish()
            assert b"".join(pieces) == content == inflate(packed, len(content))
    assert inflate(gzip.compress(b"one ") + gzip.compress(b"two"), 10) == b"one two"
    inflater = Inflater(1)
    assert inflater.feed(b"") == b""
    inflater.finish()


def test_the_time_of_many_members_grows_with_their_number_alone():
    # Quadratic time would be minutes here.
    assert inflate(gzip.compress(b"") * 300_000, 1) == b""


def test_unpacking_stops_at_the_limit_and_at_what_is_not_packed(subtests):
    packed = gzip.compress(bytes(50_000_000), compresslevel=1)
    with pytest.raises(ResponseTooLarge, match="1,000 bytes"):
        inflate(packed, 1_000)
    with pytest.raises(ResponseTooLarge):
        inflate(gzip.compress(b"four") * 1_000, 1_000)
    cases = [
        b"plain", gzip.compress(b"text", mtime=0)[:-5], gzip.compress(b"a", mtime=0) + b"rest",
    ]  # fmt: skip
    for packed in cases:
        with subtests.test(packed=packed), pytest.raises(RequestFailed):
            inflate(packed, 1_000)
