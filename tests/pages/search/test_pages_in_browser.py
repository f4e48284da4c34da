"""The pages in a real browser: quiet console, keyboard, phone, without JavaScript."""

import re

import pytest
from playwright.sync_api import expect

from search.models import Chunk
from tests.pages.search.shelf import Passage, index, shelve
from tests.support.browser import needs_browser
from tests.support.samples import content_of

pytestmark = needs_browser


@pytest.fixture
def long_guide(workspace, member, guide):
    text = "\n\n".join(f"Step {n}: turn the valve number {n}." for n in range(1, 301))
    document = shelve(workspace, "ops/valves.md", text, title="Valves")
    index(workspace)
    return document


def test_person_gets_from_the_login_to_the_cited_lines(open_page, password, long_guide):
    page = open_page()
    page.goto("/")
    page.get_by_label("Email").fill("ada@example.org")
    page.get_by_label("Password", exact=True).fill(password)
    page.get_by_role("button", name="Log in").click()
    page.locator("[data-search-box]").fill("valve number 250")
    page.keyboard.press("Enter")
    page.get_by_role("link", name=re.compile("^Valves")).first.click()

    cited = page.locator(".rendered .cited")
    expect(cited).to_contain_text("Step 250: turn the valve number 250.")
    expect(cited).to_be_in_viewport()
    expect(page).to_have_url(re.compile("#L499$"))


def test_every_mode_works_without_javascript(open_page, member, guide):
    page = open_page(member, java_script_enabled=False)
    page.goto("/w/handbook/search")
    page.locator("[data-search-box]").fill("restart")
    page.keyboard.press("Enter")

    for mode, label in (("lexical", "Exact words"), ("vector", "Similar meaning"), ("hybrid", "Best match")):
        page.get_by_label("Search options").click()
        page.get_by_role("link", name=label).click()
        expect(page).to_have_url(re.compile(f"mode={mode}"))
        expect(page.get_by_role("article").first).to_contain_text("Deploy guide")


@pytest.mark.parametrize("address", ["/workspaces", "/profile", "/search"])
def test_keys_go_to_the_search_box_where_there_is_no_workspace(open_page, member, address):
    page = open_page(member)
    page.goto(address)
    box = page.locator("[data-search-box]")
    for key in ("/", "Control+k"):
        box.blur()
        page.keyboard.press(key)
        expect(box).to_be_focused()
    expect(box).to_have_value("")


def test_escape_closes_what_is_open_and_nothing_else(open_page, member, guide):
    page = open_page(member)
    page.goto("/w/handbook/search?q=restart")
    menu = page.get_by_role("article").first.locator(".why").locator("..").locator("summary")
    menu.click()
    page.keyboard.press("Escape")
    expect(menu).to_be_focused()
    palette = page.locator("#palette")
    page.keyboard.press("Control+k")
    page.keyboard.type("guide")
    page.keyboard.press("Escape")
    expect(palette).to_be_hidden()
    expect(menu).to_be_focused()


def test_search_page_is_usable_by_keyboard_alone(open_page, member, guide):
    page = open_page(member)
    page.goto("/w/handbook/search?q=restart")
    box = page.locator("[data-search-box]")
    page.keyboard.press("/")
    expect(box).to_be_focused()
    box.fill("")
    box.press_sequentially("a/b")
    expect(box).to_have_value("a/b")
    page.keyboard.press("Escape")
    expect(box).not_to_be_focused()
    page.reload()
    # Chromium drops keys until it has drawn a page, and on a busy machine for some frames more.
    for _ in range(600):
        page.keyboard.press("Tab")
        page.evaluate("new Promise(requestAnimationFrame)")
        if page.evaluate("document.activeElement !== document.body"):
            break
    # A key may also come late, after the next one was sent: then the focus is beyond the first link.
    skip = page.get_by_role("link", name="Skip to the content")
    for _ in range(10):
        if skip.evaluate("link => link === document.activeElement"):
            break
        page.keyboard.press("Shift+Tab")
        page.evaluate("new Promise(requestAnimationFrame)")
    expect(skip).to_be_in_viewport()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()


def test_pages_fit_the_screen(open_page, workspace, member, guide):
    wide = shelve(workspace, "x" * 300 + ".md", "y" * 3000, title="z" * 300, tags=("t" * 100,))
    page = open_page(member)

    for address in ("/w/handbook/search?q=restart", f"/w/handbook/documents/{wide.doc_id.hex}"):
        page.goto(address)
        for width in (320, 390, 1440):
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), width


def test_dark_and_light_follow_the_system(open_page, member, guide):
    page = open_page(member)
    page.goto("/w/handbook/search?q=restart")
    papers = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        papers.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))

    assert papers == ["rgb(251, 250, 248)", "rgb(20, 19, 18)"]


def test_the_api_pages_work_under_the_policy(open_page, db):
    page = open_page()
    page.goto("/api/docs/")

    expect(page.locator("#swagger-ui .info .title")).to_contain_text("Kebab")


_PICTURE_SIZE = "image => image.decode().then(() => [image.naturalWidth, image.naturalHeight])"


@pytest.fixture
def printed_document(workspace):
    text = content_of("pdf/printed.pdf").decode("latin-1")
    passages = [Passage(text="The marmalade siren", spans=[{"kind": "page", "page": 2}])]
    fields = {"media": "pdf", "mime": "application/pdf", "metadata": {"pages": 3}, "passages": passages}
    return shelve(workspace, "printed.pdf", text, charset="latin-1", **fields)


def test_pdf_page_is_drawn_beside_its_text_and_below_it_on_a_phone(open_page, member, printed_document):
    page = open_page(member, viewport={"width": 1440, "height": 844})
    page.goto(f"/w/handbook/documents/{printed_document.doc_id.hex}?from=2")
    sheet = page.get_by_alt_text(re.compile("^Page 2"))
    passage = page.get_by_text("The marmalade siren")

    expect(passage).to_be_visible()
    assert sheet.evaluate(_PICTURE_SIZE) == [990, 1400]
    page.set_viewport_size({"width": 390, "height": 844})
    assert passage.bounding_box()["y"] < sheet.bounding_box()["y"]
    expect(passage).to_be_in_viewport()


def test_outline_of_a_region_covers_the_words_in_the_picture(open_page, member, workspace):
    text = content_of("image/notice.png").decode("latin-1")
    span = {"kind": "region", "x": 34, "y": 42, "w": 504, "h": 193}
    passages = [Passage(text="The ferry leaves", spans=[span])]
    size = {"width": 900, "height": 360}
    fields = {"media": "image", "mime": "image/png", "metadata": size, "passages": passages}
    document = shelve(workspace, "notice.png", text, charset="latin-1", **fields)
    chunk = Chunk.objects.in_workspace(workspace).get(document=document)
    page = open_page(member, viewport={"width": 480, "height": 800})
    page.goto(f"/w/handbook/documents/{document.doc_id.hex}?chunk={chunk.chunk_id.hex}")
    picture = page.get_by_alt_text("notice.png")
    picture.evaluate(_PICTURE_SIZE)
    drawn, outlined = picture.bounding_box(), page.locator("rect.region").bounding_box()
    scale = drawn["width"] / 900

    assert abs(outlined["x"] - drawn["x"] - 34 * scale) < 3
    assert abs(outlined["y"] - drawn["y"] - 42 * scale) < 3
    assert abs(outlined["width"] - 504 * scale) < 4


@pytest.mark.parametrize("width", [390, 1_440])
def test_rendered_markdown_fits_the_screen_and_opens_at_the_cited_line(open_page, member, workspace, width):
    wide = f"| a | b |\n|---|---|\n| {'c' * 300} | {'d ' * 300} |\n\n```python\n{'x = 1; ' * 100}\n```\n\n"
    text = f"# Valves\n\n{wide}" + "\n\n".join(f"Step {n} of {'many ' * 9}." for n in range(120))
    document = shelve(workspace, "ops/valves.md", f"{text}\n\n{'w' * 300}", title="Valves")
    page = open_page(member, viewport={"width": width, "height": 800})
    page.goto(f"/w/handbook/documents/{document.doc_id.hex}?start=151&end=151#L151")

    expect(page.locator(".rendered p.cited")).to_contain_text("Step 70 of")
    expect(page.locator(".rendered p.cited")).to_be_in_viewport()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


@pytest.mark.parametrize("width", [390, 1_440])
def test_transcript_text_is_aligned_in_one_column(open_page, member, workspace, width):
    text = content_of("transcript/harbour.srt").decode()
    document = shelve(workspace, "harbour.srt", text, media="transcript")
    page = open_page(member, viewport={"width": width, "height": 844})
    page.goto(f"/w/handbook/documents/{document.doc_id.hex}")
    cues = page.locator(".cues li > span")

    expect(page.get_by_text("1:02:03")).to_be_visible()
    assert len({cues.nth(number).bounding_box()["x"] for number in range(3)}) == 1


def test_a_hit_in_a_mail_leads_to_its_passage(open_page, member, workspace):
    lines = [f"Line {number} of a long letter." for number in range(1, 25)]
    spans = [[{"kind": "line", "start": number, "end": number}] for number in range(1, 25)]
    passages = [Passage(text=lines[n], ordinal=n, spans=spans[n]) for n in range(24)]
    fields = {"media": "email", "mime": "message/rfc822", "passages": passages}
    document = shelve(workspace, "letter.eml", "\n".join(lines), **fields)
    cited = Chunk.objects.in_workspace(workspace).get(document=document, ordinal=19)
    page = open_page(member, viewport={"width": 390, "height": 844})
    page.goto(f"/w/handbook/documents/{document.doc_id.hex}?start=20&end=20&chunk={cited.chunk_id.hex}#L20")

    expect(page.locator(".rendered .cited")).to_contain_text("Line 20 of a long letter.")
    expect(page.locator(".rendered .cited")).to_be_in_viewport()


def test_outline_is_beside_the_text_on_a_desktop_and_folded_on_a_phone(open_page, member, workspace):
    spans = [[{"kind": "line", "start": line, "end": line}] for line in (3, 7)]
    passages = [
        Passage(text="a", ordinal=0, heading_path=("Linux",), spans=spans[0]),
        Passage(text="b", ordinal=1, heading_path=("Windows",), spans=spans[1]),
    ]
    text = "# Linux\n\na\n\n# Windows\n\nb\n"
    manual = shelve(workspace, "manual.md", text, passages=passages)
    page = open_page(member, viewport={"width": 1440, "height": 800})
    page.goto(f"/w/handbook/documents/{manual.doc_id.hex}")
    expect(page.get_by_role("link", name="Windows")).to_be_visible()
    page.get_by_role("link", name="Windows").click()
    expect(page.locator("#L7")).to_be_in_viewport()
    page.set_viewport_size({"width": 390, "height": 800})
    expect(page.get_by_role("link", name="Windows")).not_to_be_visible()
    page.locator(".outline summary").click()
    expect(page.get_by_role("link", name="Windows")).to_be_visible()


def test_arrow_keys_turn_the_pages_of_a_pdf(open_page, member, printed_document):
    page = open_page(member)
    page.goto(f"/w/handbook/documents/{printed_document.doc_id.hex}")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#page-2")).to_be_visible()
    page.get_by_label("Page", exact=True).fill("3")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    expect(page.locator("#page-3")).to_be_visible()
    page.locator("main").focus()
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#page-2")).to_be_visible()
