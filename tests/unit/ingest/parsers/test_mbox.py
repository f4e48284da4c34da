"""Mailboxes: a section a mail, threads, quoted lines, limits."""

from ingest.parsers.mail import mbox
from ingest.parsers.omissions import Omission
from ingest.parsers.registry import parse
from ingest.parsers.types import LineSpan

ENVELOPE = "From ida@light.example Mon Mar  4 10:00:00 2024"


def stored(subject, body, *headers, day=4, envelope=ENVELOPE):
    lines = [envelope, "From: Ida East <ida@light.example>", f"Date: Mon, {day} Mar 2024 10:00:00 +0100"]
    return "\n".join([*lines, f"Subject: {subject}", *headers, "", body, "", ""])


def read(*mails, name="box.mbox"):
    return parse("".join(mails).encode(), name)


def headings(document):
    return [block.text for block in document.outline.blocks if block.kind == "heading"]


def test_each_mail_is_a_section_that_no_chunk_leaves(chunk_file):
    mails = [stored(f"Report {n}", f"Wind force {n}.", day=7 - n) for n in range(3)]
    document = read(*mails)
    assert (document.title, document.parser, document.media) == ("box.mbox", "mbox", "email")
    assert document.metadata == {
        "mails": 3,
        "created": "2024-03-05T10:00:00+01:00",
        "modified": "2024-03-07T10:00:00+01:00",
    }
    assert headings(document) == ["Report 0", "Report 1", "Report 2"]
    chunks = chunk_file("".join(mails).encode(), "box.mbox")
    assert [chunk.breadcrumb for chunk in chunks] == [f"box.mbox > Report {n}" for n in range(3)]
    for n, chunk in enumerate(chunks):
        start, end = chunk.spans[0]["start"], chunk.spans[0]["end"]
        assert f"Wind force {n}." in "".join(mails).splitlines()[start - 1 : end]
        assert (start > 7 * n, end <= 7 * n + 7) == (True, True)


def test_single_mail_gives_title_and_metadata():
    document = read(stored("Lens", "It is cracked."))
    assert (document.title, document.metadata["author"]) == ("Lens", "Ida East")
    assert document.metadata["created"] == "2024-03-04T10:00:00+01:00"


def test_mails_of_one_subject_give_the_title():
    thread = stored("Lens", "It is cracked."), stored("Re: lens", "Replace it.", day=5)
    assert read(*thread).title == "Lens"
    assert read(*thread, stored("Oil", "It leaks.", day=6)).title == "box.mbox"


def test_mailbox_without_a_known_name_is_recognised(subtests):
    for content, parser in [
        (stored("Lens", "It is cracked."), "mbox"),
        ("From - Mon Mar 04 10:00:00 2024\nX-Mozilla-Status: 0001\nFrom: a@b.example\n\ntext\n", "mbox"),
        ("From a@b.example\nFrom: a@b.example\nDate: Mon, 4 Mar 2024 10:00:00 +0100\n\ntext\n", "mbox"),
        ("From here on the road is closed.\nNote: take the ferry.\n", "text"),
    ]:
        with subtests.test(case=content[:40]):
            assert parse(content.encode(), "Inbox").parser == parser


def test_threads_stand_together_in_the_order_of_their_dates():
    mails = [
        stored("Lens", "first", "Message-ID: <1@x>"),
        stored("Oil", "other", "Message-ID: <2@x>"),
        stored("Re: Lens", "third", "Message-ID: <4@x>", "In-Reply-To: <3@x>", day=11),
        stored("AW: Lens", "second", "Message-ID: <3@x>", "References: <0@x> <1@x>", day=5),
        stored("Re: Oil", "by subject", day=6),
        stored("Oil", "no reply", day=7),
    ]
    document = read(*mails)
    texts = [line for line in document.outline.lines if line.islower()]
    assert texts == ["first", "second", "third", "other", "by subject", "no reply"]
    number = list(document.outline.lines).index("second") + 1
    line = "".join(mails).splitlines().index("second") + 1
    assert document.source_span(number, number) == LineSpan(line, line)


def test_quoted_and_unquoted_from_lines(subtests):
    body = ">From the pier.\n>>From twice.\n\nFrom here we row.\nFrom: no header\n\n> From a quote."
    document = read(stored("Lens", body), stored("Oil", "Two."))
    assert headings(document) == ["Lens", "Oil"]
    lines = document.outline.lines
    assert {"From the pier.", ">From twice.", "From here we row.", "> From a quote."} <= set(lines)


def test_hostile_mailboxes_are_read_in_linear_time(monkeypatch):
    assert read("From a@b.example Mon Mar  4 10:00:00 2024\n" * 20_000).parser in ("mbox", "mail_source")
    assert headings(read((ENVELOPE + "\nSubject: x\n\n") * 300)) == ["x"] * 300
    references = " ".join(f"<{n}@x>" for n in range(5_000))
    assert len(headings(read(*[stored("x", "y", f"References: {references}") for _ in range(50)]))) == 50
    monkeypatch.setattr(mbox, "MAX_MAILS", 2)
    beyond = Omission(kind="beyond_limit", amount=3, where=("mails",))
    assert read(*[stored("x", "y")] * 5).omissions == (beyond,)
    document = read("no mail in here\n")
    assert document.parser == "mail_source"
