"""Frames in pieces, and malformed frames."""

import pytest

from kebab.sandbox.program import MAX_HEADER_BYTES, PREFIX, FrameError, encode_reply, take_frames


def test_frame_is_returned_as_soon_as_it_is_complete():
    replies = [{"a": "é"}, {"b": [1], "body": b"\xff\0"}, {}]
    sent = b"".join(piece for reply in replies for piece in encode_reply(reply)) + b"\0"
    received, taken = bytearray(), []
    for byte in sent:
        received.append(byte)
        taken += take_frames(received)
    assert taken == replies
    assert received == b"\0"


@pytest.mark.parametrize("encoded", [b"words", b"[1]", b"\xff", b"[" * 200_000])
def test_frame_header_must_be_a_json_object(encoded):
    with pytest.raises(FrameError, match="JSON"):
        list(take_frames(bytearray(PREFIX.pack(len(encoded), 0) + encoded)))


def test_length_over_the_limit_is_refused():
    with pytest.raises(FrameError, match="limits"):
        list(take_frames(bytearray(PREFIX.pack(MAX_HEADER_BYTES + 1, 0))))
