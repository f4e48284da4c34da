"""Frames in pieces, and malformed frames."""

import pytest

from kebab.sandbox.frames import MAX_HEADER_BYTES, PREFIX, FrameError, frame_start, take_headers


def test_headers_are_taken_as_soon_as_they_are_whole():
    sent = frame_start({"a": "é"}) + frame_start({"b": [1]}) + b"\0"
    received, taken = bytearray(), []
    for byte in sent:
        received.append(byte)
        taken += take_headers(received)
    assert taken == [{"a": "é"}, {"b": [1]}]
    assert received == b"\0"


@pytest.mark.parametrize("encoded", [b"words", b"[1]", b"\xff", b"[" * 200_000])
def test_header_that_is_no_json_object_is_refused(encoded):
    with pytest.raises(FrameError, match="JSON"):
        list(take_headers(bytearray(PREFIX.pack(len(encoded), 0) + encoded)))


def test_length_over_the_limit_is_refused():
    with pytest.raises(FrameError, match="limits"):
        list(take_headers(bytearray(PREFIX.pack(MAX_HEADER_BYTES + 1, 0))))
