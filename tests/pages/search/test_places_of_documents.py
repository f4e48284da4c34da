"""The document page of PDFs, transcripts and pictures shows the cited page, time or region."""

import html
import re
import struct
from contextlib import closing
from itertools import product

import pytest
from django.test import Client

from ingest.digest.digester import Digester
from search.models import Chunk
from search.pages.document import media as places
from tests.pages.search.shelf import Passage, shelve
from tests.support.samples import content_of

PRINTED, TALK, NOTICE = "pdf/printed.pdf", "transcript/talk.vtt", "image/notice.png"


@pytest.fixture(scope="module")
def digests():
    """Return the digests of the files by name."""
    with closing(Digester()) as digester:
        return {name: digester.digest(content_of(name), name) for name in (PRINTED, TALK, NOTICE)}


@pytest.fixture
def add(workspace, digests):
    """Return a function that shelves one of the files as a job does and returns the document."""

    def shelve_file(name, workspace=workspace, **fields):
        digest = digests[name]
        found = {key: getattr(digest, key) for key in ("title", "lang", "mime", "media", "metadata")}
        text = content_of(name).decode("latin-1")
        return shelve(workspace, name, text, charset="latin-1", passages=digest.chunks, **(found | fields))

    return shelve_file


def chunk_with(document, words):
    return Chunk.objects.in_workspace(document.workspace_id).get(document=document, text__contains=words)


def address(document, below=""):
    return f"/w/handbook/documents/{document.doc_id.hex}{below}"


def page_of(visitor, document, **parameters):
    response = visitor.get(address(document), parameters)
    assert response.status_code == 200
    return response.content.decode()


def page_number(page):
    return int(re.search(r'<input id="page" [^>]*max="3" value="(\d)"', page)[1])


def test_a_cited_page_is_shown_as_text_and_drawn(visitor, add):
    document = add(PRINTED)
    cited = chunk_with(document, "marmalade")
    page = page_of(visitor, document, chunk=cited.chunk_id.hex)

    assert page_number(page) == 2
    assert f'<section class="passage cited" id="chunk-{cited.chunk_id.hex}"' in page
    assert '<figure class="sheet cited" id="page-2">' in page
    assert f'src="{address(document, "/pages/2.png")}"' in page
    assert "pressure gauges" not in page


def test_next_links_lead_through_the_pages_of_a_pdf(visitor, add):
    document = add(PRINTED)
    page = page_of(visitor, document)
    seen = []
    while True:
        seen.append(page_number(page))
        following = re.search(r'rel="next" href="([^"]+)"', page)
        if following is None:
            break
        page = visitor.get(address(document, html.unescape(following[1]))).content.decode()

    assert seen == [1, 2, 3]
    assert 'rel="prev"' in page


def test_page_is_asked_for_by_its_number_and_the_nearest_shown(visitor, add):
    document = add(PRINTED)
    cited = chunk_with(document, "marmalade").chunk_id.hex
    page = page_of(visitor, document, chunk=cited, q="a b")
    form = re.search(r'<form class="page-form" method="get">(.*?)</form>', page, re.DOTALL)[1]

    assert re.search(r'name="from" type="number" min="1" max="3" value="2"', form)
    assert f'name="chunk" value="{cited}"' in form
    assert 'name="q" value="a b"' in form
    for first, nearest in (("0", 1), ("99", 3), ("-1", 1), ("x", 1)):
        assert f'id="page-{nearest}"' in page_of(visitor, document, **{"from": first}), first


def test_drawn_page_is_a_picture_of_its_size(visitor, add):
    document = add(PRINTED)
    response = visitor.get(address(document, "/pages/2.png"))
    width, height = struct.unpack(">II", response.content[16:24])

    assert (response.status_code, response["Content-Type"]) == (200, "image/png")
    assert response["X-Content-Type-Options"] == "nosniff"
    assert height == 1_400
    assert abs(width / height - 210 / 297) < 0.005
    for page in ("0", "4", "999999999"):
        assert visitor.get(address(document, f"/pages/{page}.png")).status_code == 404, page


def test_file_that_is_not_a_pdf_is_not_rendered(visitor, workspace):
    broken = shelve(workspace, "b.pdf", "%PDF-1.7 nothing", media="pdf", passages=[Passage(text="x")])
    plain = shelve(workspace, "a.md", "words")

    assert visitor.get(address(broken, "/pages/1.png")).status_code == 404
    assert visitor.get(address(plain, "/pages/1.png")).status_code == 404
    assert visitor.get(address(plain, "/picture")).status_code == 404


def test_cues_are_shown_with_the_cited_time_marked(visitor, add):
    document = add(TALK)
    cited = chunk_with(document, "Eling")
    page = page_of(visitor, document, chunk=cited.chunk_id.hex)
    marked = re.findall(r'<li id="([^"]+)" class="cited"><time>([^<]+)</time><span>(.*?)</span></li>', page)

    assert [(id_, time) for id_, time, _ in marked] == [
        (f"chunk-{cited.chunk_id.hex}", "13:42"),
        ("cue-6", "13:55"),
    ]
    assert marked[0][2] == "<strong>Ada Miller:</strong> The miller of Eling slept when the moon told him to,"
    assert "Cues 1–6 of 6" in page


def test_a_long_transcript_is_shown_around_the_cited_cue(visitor, workspace, monkeypatch):
    monkeypatch.setattr(places, "WINDOW_CUES", 30)
    cues = [f"{n // 60:02}:{n % 60:02}.000 --> {n // 60:02}:{n % 60:02}.900\nline {n}\n" for n in range(300)]
    span = {"kind": "time", "start_s": 150.0, "end_s": 151.9}
    text = "WEBVTT\n\n" + "\n".join(cues)
    passages = [Passage(text="line 150\nline 151", spans=[span])]
    document = shelve(workspace, "long.vtt", text, media="transcript", passages=passages)
    cited = chunk_with(document, "line 150")
    page = page_of(visitor, document, chunk=cited.chunk_id.hex)

    assert "Cues 131–160 of 300" in page
    assert len(re.findall(r'class="cited"><time>2:3[01]<', page)) == 2
    later = html.unescape(re.search(r'rel="next" href="([^"]+)"', page)[1])
    assert "Cues 161–190 of 300" in visitor.get(address(document, later)).content.decode()


def test_a_transcript_without_usable_times_is_shown_by_lines(visitor, workspace):
    document = shelve(workspace, "a.srt", "only\nwords", media="transcript")

    assert '<li id="L2">' in page_of(visitor, document)


def test_picture_without_text_is_shown(visitor, workspace):
    document = shelve(workspace, "a.png", "", media="image", mime="image/png")
    assert f'<img src="{address(document, "/picture")}" alt="a.png">' in page_of(visitor, document)


def test_a_cited_region_is_outlined_on_its_picture(visitor, add):
    document = add(NOTICE)
    cited = chunk_with(document, "ferry")
    page = page_of(visitor, document, chunk=cited.chunk_id.hex)
    place = cited.source_spans[0]

    assert f'<img src="{address(document, "/picture")}" width="900" height="360"' in page
    assert '<svg viewBox="0 0 900 360"' in page
    assert (
        f'<rect class="region" x="{place["x"]}" y="{place["y"]}" width="{place["w"]}" height="{place["h"]}"/>'
        in page
    )
    assert "18:45 sharp" in page


def test_picture_is_given_as_it_was_added_unless_browsers_do_more_with_it(visitor, add):
    response = visitor.get(address(add(NOTICE), "/picture"))

    assert (response["Content-Type"], response["X-Content-Type-Options"]) == ("image/png", "nosniff")
    assert response.content == content_of(NOTICE)
    for mime in ("image/svg+xml", "text/html", "image/tiff"):
        document = add(NOTICE, mime=mime)
        assert visitor.get(address(document, "/picture")).status_code == 404, mime
        assert "<figure" not in page_of(visitor, document), mime


def test_stated_metadata_and_media_break_no_page(visitor, workspace, add, subtests):
    stated = ({}, {"pages": "9"}, {"pages": True}, {"width": "<b>", "height": [1]})
    for (name, shown), metadata in product(((PRINTED, 'id="page-1"'), (NOTICE, "18:45 sharp")), stated):
        with subtests.test(name=name, metadata=metadata):
            page = page_of(visitor, add(name, metadata=metadata))
            assert "<b>" not in page
            assert shown in page
    for media in ("pdf", "transcript", "image"):
        with subtests.test(media=media):
            assert "plain words" in page_of(visitor, shelve(workspace, "a.md", "plain words", media=media))


def test_pages_and_pictures_are_hidden_from_strangers_and_nobody(visitor, add, other_workspace):
    own, strange = add(PRINTED), [add(name, workspace=other_workspace) for name in (PRINTED, NOTICE)]
    for below, document in product(("/pages/1.png", "/picture"), strange):
        assert visitor.get(f"/w/secrets/documents/{document.doc_id.hex}{below}").status_code == 404
        assert visitor.get(address(document, below)).status_code == 404
        response = Client().get(address(own, below))
        assert (response.status_code, response["Location"].partition("?")[0]) == (302, "/login")
