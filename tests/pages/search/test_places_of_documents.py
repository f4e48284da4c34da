"""The document page of PDFs, transcripts and pictures: the cited page, time or region is shown."""

import html
import re
import struct

import pytest

from ingest.sandbox.digester import Digester
from kebab.people.models import Membership
from search.models import Chunk, Document
from search.pages import places
from tests.pages.search.shelf import Passage, shelve
from tests.unit.ingest.real_files import content_of

PRINTED, TALK, NOTICE = "pdf/printed.pdf", "transcript/talk.vtt", "image/notice.png"


@pytest.fixture(scope="module")
def digests():
    """What the limited process makes of the files, by name."""
    with Digester() as digester:
        return {name: digester.digest(content_of(name), name) for name in (PRINTED, TALK, NOTICE)}


@pytest.fixture
def add(workspace, digests):
    """Shelves one of the files as a job does; gives the document."""

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


def opened(visitor, document, **parameters):
    response = visitor.get(address(document), parameters)
    assert response.status_code == 200
    return response.content.decode()


def test_a_cited_page_is_shown_as_text_and_drawn(visitor, add):
    document = add(PRINTED)
    cited = chunk_with(document, "marmalade")
    page = opened(visitor, document, chunk=cited.chunk_id.hex)

    assert "Page 2 of 3" in page
    assert f'<section class="passage cited" id="chunk-{cited.chunk_id.hex}"' in page
    assert '<figure class="sheet cited" id="page-2">' in page
    assert f'src="{address(document, "/pages/2.png")}"' in page
    assert "pressure gauges" not in page


def test_pages_are_turned(visitor, add):
    document = add(PRINTED)
    page = opened(visitor, document)
    seen = []
    while True:
        seen.append(re.search(r"Page (\d) of 3", page)[1])
        following = re.search(r'rel="next" href="([^"]+)"', page)
        if following is None:
            break
        page = visitor.get(address(document, html.unescape(following[1]))).content.decode()

    assert seen == ["1", "2", "3"]
    assert 'rel="prev"' in page


def test_a_page_is_asked_for_by_its_number(visitor, add):
    document = add(PRINTED)
    cited = chunk_with(document, "marmalade").chunk_id.hex
    page = opened(visitor, document, chunk=cited, q="a b")
    form = re.search(r'<form class="page-form" method="get">(.*?)</form>', page, re.DOTALL)[1]

    assert re.search(r'name="from" type="number" min="1" max="3" value="2"', form)
    assert f'name="chunk" value="{cited}"' in form
    assert 'name="q" value="a b"' in form


@pytest.mark.parametrize("first", ["0", "99", "-1", "x"])
def test_a_page_that_is_not_there_shows_the_nearest(visitor, add, first):
    assert re.search(r"Page [13] of 3", opened(visitor, add(PRINTED), **{"from": first}))


def test_the_drawn_page_is_a_picture_of_its_size(visitor, add):
    response = visitor.get(address(add(PRINTED), "/pages/2.png"))
    width, height = struct.unpack(">II", response.content[16:24])

    assert (response.status_code, response["Content-Type"]) == (200, "image/png")
    assert response["X-Content-Type-Options"] == "nosniff"
    assert height == 1_400
    assert abs(width / height - 210 / 297) < 0.005


@pytest.mark.parametrize("page", ["0", "4", "999999999"])
def test_a_page_that_cannot_be_drawn_is_not_found(visitor, add, page):
    assert visitor.get(address(add(PRINTED), f"/pages/{page}.png")).status_code == 404


def test_what_is_no_pdf_is_not_drawn(visitor, workspace):
    broken = shelve(workspace, "b.pdf", "%PDF-1.7 nothing", media="pdf", passages=[Passage(text="x")])
    plain = shelve(workspace, "a.md", "words")

    assert visitor.get(address(broken, "/pages/1.png")).status_code == 404
    assert visitor.get(address(plain, "/pages/1.png")).status_code == 404
    assert visitor.get(address(plain, "/picture")).status_code == 404


def test_cues_are_shown_with_the_cited_time_marked(visitor, add):
    document = add(TALK)
    cited = chunk_with(document, "Eling")
    page = opened(visitor, document, chunk=cited.chunk_id.hex)
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
    page = opened(visitor, document, chunk=cited.chunk_id.hex)

    assert "Cues 131–160 of 300" in page
    assert len(re.findall(r'class="cited"><time>2:3[01]<', page)) == 2
    later = html.unescape(re.search(r'rel="next" href="([^"]+)"', page)[1])
    assert "Cues 161–190 of 300" in visitor.get(address(document, later)).content.decode()


def test_a_transcript_without_usable_times_is_shown_by_lines(visitor, workspace):
    document = shelve(workspace, "a.srt", "only\nwords", media="transcript")

    assert '<li id="L2">' in opened(visitor, document)


def test_a_cited_region_is_outlined_on_its_picture(visitor, add):
    document = add(NOTICE)
    cited = chunk_with(document, "ferry")
    page = opened(visitor, document, chunk=cited.chunk_id.hex)
    place = cited.source_spans[0]

    assert f'<img src="{address(document, "/picture")}" width="900" height="360"' in page
    assert '<svg viewBox="0 0 900 360"' in page
    assert (
        f'<rect class="region" x="{place["x"]}" y="{place["y"]}" width="{place["w"]}" height="{place["h"]}"/>'
        in page
    )
    assert "18:45 sharp" in page


def test_a_picture_is_given_as_it_was_added(visitor, add):
    response = visitor.get(address(add(NOTICE), "/picture"))

    assert (response["Content-Type"], response["X-Content-Type-Options"]) == ("image/png", "nosniff")
    assert response.content == content_of(NOTICE)


@pytest.mark.parametrize("mime", ["image/svg+xml", "text/html", "image/tiff"])
def test_a_type_that_browsers_do_more_with_is_never_shown(visitor, add, mime):
    document = add(NOTICE, mime=mime)

    assert visitor.get(address(document, "/picture")).status_code == 404
    assert "<figure" not in opened(visitor, document)


@pytest.mark.parametrize("metadata", [{}, {"pages": "9"}, {"pages": True}, {"width": "<b>", "height": [1]}])
@pytest.mark.parametrize("name", [PRINTED, NOTICE])
def test_metadata_that_somebody_stated_breaks_no_page(visitor, add, name, metadata):
    page = opened(visitor, add(name, metadata=metadata))

    assert "<b>" not in page
    assert "Page 1 of 3" in page or "18:45 sharp" in page


@pytest.mark.parametrize("below", ["/pages/1.png", "/picture"])
def test_a_strangers_pages_and_pictures_are_not_there(visitor, add, other_workspace, below):
    strange = {name: add(name, workspace=other_workspace) for name in (PRINTED, NOTICE)}
    for document in strange.values():
        secret = f"/w/secrets/documents/{document.doc_id.hex}{below}"
        assert visitor.get(secret).status_code == 404
        assert visitor.get(address(document, below)).status_code == 404
    assert not Membership.objects.filter(workspace=other_workspace).exists()
    assert Document.objects.in_workspace(other_workspace).count() == 2


@pytest.mark.parametrize("below", ["/pages/1.png", "/picture"])
def test_nobody_sees_pages_and_pictures_without_logging_in(client, add, below):
    response = client.get(address(add(PRINTED), below))

    assert response.status_code == 302
    assert response["Location"].startswith("/login")


@pytest.mark.parametrize("media", ["pdf", "transcript", "image"])
def test_a_document_that_is_said_to_be_something_else_is_shown_all_the_same(visitor, workspace, media):
    document = shelve(workspace, "a.md", "plain words", media=media)

    assert "plain words" in opened(visitor, document)
