"""Subtitles and transcripts: cues, speakers and times."""

from hypothesis import given
from hypothesis import strategies as st

from ingest.parsers.registry import parse
from search.documents.subtitles import NoCues, read_cues
from tests.support.samples import citation_of, digest_sample, uri_of

TALK, HARBOUR = "transcript/talk.vtt", "transcript/harbour.srt"


def cue(number, start, text):
    return f"{number}\n00:00:{start:02},000 --> 00:00:{start:02},900\n{text}\n\n"


def read(path, text):
    return parse(text.encode(), path)


def test_webvtt_is_cited_by_time_with_its_speakers(shared_digester):
    digest = digest_sample(shared_digester, TALK)
    assert (digest.media, digest.mime, digest.parser) == ("transcript", "text/vtt", "transcript")
    words = "The miller of Eling slept when the moon told him to, and ground barley at three"
    assert citation_of(digest, TALK, words) == f"{TALK}#t=822.000,850.000"
    first = digest.chunks[0]
    assert first.text.split("\n") == [
        "Ada Miller: Welcome to the evening about tide mills.",
        "The mill pond fills at high water, and the gate closes by itself.",
        "",
        "Ben Osei: How long does the wheel turn after that?",
        "",
        "Ada Miller: About five hours & a half, twice a day.",
    ]
    assert uri_of(TALK, first) == f"{TALK}#t=1.000,21.000"


def test_subrip_is_read_with_its_milliseconds(shared_digester):
    digest = digest_sample(shared_digester, HARBOUR)
    assert digest.mime == "application/x-subrip"
    assert digest.title == "Previously, on the harbour wall: the crane had stopped."
    assert citation_of(digest, HARBOUR, "Nobody had the key") == f"{HARBOUR}#t=2.000,8.000"
    last = "An hour later the winch was running again."
    assert citation_of(digest, HARBOUR, last) == f"{HARBOUR}#t=3723.500,3726.000"


def test_header_of_webvtt_may_name_the_recording():
    text = "WEBVTT - An evening talk\n\nNOTE not said\n\n00:01.000 --> 00:02.000\nHello.\n"
    parsed = read("a.vtt", text)
    assert parsed.title == "An evening talk"
    assert parsed.outline.lines[0] == "Hello."


def test_cue_with_broken_times_lies_between_its_neighbours():
    cues = [cue(n, 2 * n, f"line {n}") for n in range(1, 21)]
    cues[4] = "5\n00:00:xx,000 --> later\nlost in time\n\n"
    cues[5] = cue(6, 12, "line 6").replace("12,900", "11,000")
    parsed = read("a.srt", "".join(cues))
    assert parsed.parser == "transcript"
    times = dict(zip(parsed.outline.lines, parsed.outline.origins, strict=True))
    assert (times["lost in time"].start_ms, times["lost in time"].end_ms) == (8_900, 14_000)
    (warning,) = parsed.warnings
    assert "18, 22" in warning


def test_file_without_usable_times_is_read_as_text(subtests):
    for name, text in {
        "no cue": "WEBVTT\n\nall the words\nwithout a time\n",
        "half of them broken": cue(1, 1, "one").replace(" --> 00", " --> x") + cue(2, 2, "two"),
        "backwards": "1\n00:00:02,000 --> 00:00:01,000\nbackwards in time\n",
    }.items():
        with subtests.test(case=name):
            parsed = read("a.srt", text)
            assert (parsed.parser, parsed.outline.origins) == ("text", None)
            assert [line for line in parsed.outline.lines if line] == [
                line for line in text.split("\n") if line
            ]
            assert "NoCues" in parsed.warnings[0]


def test_cues_are_plain_text(subtests):
    rolling = (
        "WEBVTT\n\n00:01.000 --> 00:02.000\nthe tide\n\n"
        "00:02.000 --> 00:03.000\nthe tide\ncomes<00:02.500><c> in</c>\n\n"
        "00:03.000 --> 00:04.000\ncomes in\n\n"
    )
    one = "00:01.000 --> 00:02.000\n"
    for text, message in [
        (rolling, ["the tide", "comes in"]),
        (f"{one}<v Ada>Off you go.\n<v.loud Ben>No!", ["Ada: Off you go. Ben: No!"]),
        *((one + words, [words]) for words in ("a --> b is an arrow", "if x < y and y > z", "5 < 6")),
    ]:
        with subtests.test(case=text):
            assert [found.text for found in read_cues(text.split("\n")).cues] == message


@given(st.lists(st.text(alphabet="0123456789:,.-> \n<v/>abcWEBVTT", max_size=40), max_size=30))
def test_any_lines_give_cues_in_order_or_are_refused(lines):
    try:
        transcript = read_cues(lines)
    except NoCues:
        return
    assert all(0 <= found.start_ms <= found.end_ms and found.text for found in transcript.cues)
