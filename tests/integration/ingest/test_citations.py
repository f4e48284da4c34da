"""A hit in a sample file of each kind cites the place of its words.

Each citation is opened three times: as the API returns it, in the file's own bytes, and on its page.
"""

import html
import re
from urllib.parse import urljoin, urlsplit

import pytest
from lxml import html as pages

from ingest.parsers.content_type import identify
from ingest.parsers.images.ocr import recognise
from ingest.parsers.registry import PARSERS
from ingest.parsers.syntax.code import GRAMMARS
from search.corpus import ensure_source
from search.models import Document
from search.retrieval.citation import parse_uri
from tests.integration.ingest.cited_files import FILES
from tests.integration.ingest.originals import has_ink_outside, page_as_picture, picture_at, text_at
from tests.support.actors import make_member, token_client
from tests.support.api import address, committed_workspace
from tests.support.jobs import counts, fill, sync
from tests.support.samples import content_of

#: pixels that a recognised region may leave out at the edges of letters
SLACK = 8
SIDES, DRAWN = ("x", "y", "w", "h"), ("x", "y", "width", "height")
#: they read what other parsers fail on
ONLY_FALLBACKS = {"office_text", "mail_source"}
RECOGNISED = [file for file in FILES if file.kind == "image" or file.path == "pdf/scanned.pdf"]
SHOWN_WITHOUT_LINES = {"email", "office", "pdf", "image", "transcript"}

each_group = pytest.mark.parametrize(
    "files",
    [FILES[nth : nth + 8] for nth in range(0, len(FILES), 8)],
    ids=lambda files: f"{files[0].kind}-{files[-1].kind}",
)


@pytest.fixture(scope="module")
def corpus(request, django_db_setup, django_db_blocker, tmp_path_factory):
    """Yield a workspace with all sample files, ingested once by a real job, and its mirrors."""
    folder = tmp_path_factory.mktemp("files")
    mirrors = tmp_path_factory.mktemp("mirrors")

    def read(workspace):
        fill(folder, {file.path: content_of(file.path) for file in FILES})
        report = sync(ensure_source(workspace, "files", kind="folder", config={"path": str(folder)}))
        assert counts(report) == {"seen": len(FILES), "new": len(FILES), "parser_calls": len(FILES)}

    with committed_workspace(django_db_blocker, mirrors, read) as workspace:
        yield workspace, mirrors


@pytest.fixture
def workspace(db, corpus, settings):
    filled, settings.KEBAB_MIRROR_DIR = corpus
    filled.refresh_from_db()
    return filled


@pytest.fixture
def reader(workspace):
    return token_client(workspace, "search")


@pytest.fixture
def visitor(workspace, client):
    client.force_login(make_member(workspace))
    return client


def hits_in(file, reader, workspace, mode):
    """Return the hits on the file's words in that file."""
    asked = {"q": file.words, "mode": mode, "k": 50, "path_glob": file.path}
    answer = reader.get(address(workspace, "/search"), asked)
    assert answer.status_code == 200, answer.content
    assert answer.json()["mode"] == mode
    return answer.json()["hits"]


def test_title_and_language_are_read_from_the_file(workspace):
    found = Document.objects.in_workspace(workspace).values_list("path", "title", "lang")
    assert set(found) == {(file.path, file.title, file.lang) for file in FILES}


@each_group
def test_hit_cites_the_expected_place_in_each_mode(reader, workspace, subtests, files):
    for file in files:
        with subtests.test(file=file.path):
            found = {mode: hits_in(file, reader, workspace, mode) for mode in ("lexical", "vector", "hybrid")}
            assert found["lexical"][0]["citation"]["uri"] == file.uri
            for hits in found.values():
                assert file.uri in [hit["citation"]["uri"] for hit in hits]
                assert {hit["title"] for hit in hits} == {file.title}


def open_original(file, reader, workspace):
    """Return the bytes of the document that the file's hit is in, and the hit's citation."""
    hit = hits_in(file, reader, workspace, "lexical")[0]
    answer = reader.get(address(workspace, f"/documents/{hit['doc_id']}/content"))
    content = b"".join(answer.streaming_content)
    assert content == content_of(file.path)
    return content, parse_uri(hit["citation"]["uri"])


@each_group
def test_original_has_the_words_at_the_cited_place(reader, workspace, subtests, files):
    for file in files:
        if file not in RECOGNISED:
            with subtests.test(file=file.path):
                content, citation = open_original(file, reader, workspace)
                assert file.words in text_at(content, file, citation)


@pytest.mark.slow
@pytest.mark.parametrize("file", RECOGNISED, ids=lambda file: file.path)
def test_original_shows_the_words_at_the_cited_place(reader, workspace, file):
    content, citation = open_original(file, reader, workspace)
    is_picture = file.kind == "image"
    shown = picture_at(content, citation) if is_picture else page_as_picture(content, citation)
    assert file.words in " ".join(line.text for line in recognise(shown))
    assert not (is_picture and has_ink_outside(content, citation, SLACK))


@each_group
def test_page_of_a_hit_marks_the_words(visitor, workspace, subtests, files):
    for file in files:
        with subtests.test(file=file.path):
            asked = visitor.get(
                f"/w/{workspace.slug}/search", {"q": file.words, "mode": "lexical", "path_glob": file.path}
            )
            (way,) = set(ways_to(pages.fromstring(asked.content.decode()), file.uri))
            opened = pages.fromstring(visitor.get(way).content.decode())
            (place,) = opened.xpath(f'//*[@id="{urlsplit(way).fragment}"]')

            # The source of a mail is encoded.
            is_whole = file.kind in SHOWN_WITHOUT_LINES
            written = opened if is_whole else as_written(visitor, way, opened)
            assert file.words in marked_text(written, file)
            assert written is opened or file.words.replace("*", "") in marked_text(opened, file)
            above = (place, *place.iterancestors())
            assert any("cited" in (each.get("class") or "").split() for each in above)
            assert marks_on(written) == marks_of(file)


def ways_to(page, uri):
    """Yield the addresses of the results and of their further sections with this citation."""
    for result in page.xpath("//article"):
        if uri in result.xpath('.//*[contains(@class, "why")]/p/text()'):
            yield result.xpath("./h2/a")[0].get("href")
        yield from (link.get("href") for link in result.xpath(".//a") if link.get("title") == uri)


def cited_elements(page, element):
    """Return the elements of this kind that a page marks as cited."""
    return page.xpath(f'//{element}[contains(concat(" ", @class, " "), " cited ")]')


def marked_text(page, file):
    """Return the text of the marked lines, cues and passages, without the markup of the file itself."""
    places = cited_elements(page, "li") + cited_elements(page, "section")
    texts = (place.text_content() for within in places for place in within.xpath("code | span | p"))
    blocks = (block.text_content() for block in page.find_class("cited"))
    text = "\n".join([*texts, *(blocks if page.find_class("rendered") else ())])
    if file.path.endswith((".html", ".svg")):
        text = html.unescape(re.sub(r"<[^>]*>", "", text))
    return " ".join(text.split())


def as_written(visitor, way, page):
    """Return the page that shows a rendered document as source; the page itself for others."""
    links = [link.get("href") for link in page.xpath("//a") if link.text_content() == "Source"]
    return pages.fromstring(visitor.get(urljoin(way, links[0])).content.decode()) if links else page


def marks_on(page):
    """Return the marked lines, sheets of a PDF and regions of a picture."""
    lines = [int(id_[1:]) for line in cited_elements(page, "li") if (id_ := line.get("id")).startswith("L")]
    sheets = [sheet.get("id") for sheet in cited_elements(page, "figure")]
    regions = [
        tuple(int(region.get(name)) for name in DRAWN) for region in page.xpath("//rect[@class='region']")
    ]
    return lines, sheets, regions


def marks_of(file):
    """Return the marks that the page of the file must have."""
    cited = parse_uri(file.uri)
    lines = [] if file.kind in SHOWN_WITHOUT_LINES else list(range(cited.start, cited.end + 1))
    sheets = [f"page-{cited.page}"] if file.kind == "pdf" else []
    regions = [tuple(getattr(cited, side) for side in SIDES)] if file.kind == "image" else []
    return lines, sheets, regions


def test_each_parser_and_each_language_has_a_file():
    types = [identify(content_of(file.path), file.path) for file in FILES]

    assert {type_.parsers[0] for type_ in types} == PARSERS.keys() - ONLY_FALLBACKS
    assert {type_.language for type_ in types if type_.media == "code"} == GRAMMARS.keys()
