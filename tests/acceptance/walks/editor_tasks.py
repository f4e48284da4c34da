"""Tasks of editors: upload files, add sources, handle jobs and unreadable files."""

from typing import Any

from playwright.sync_api import Page, expect

from kebab.identity.models import Role
from tests.acceptance.walks.task import Task
from tests.acceptance.walks.visitor import Visitor

_DROP = """([target, files]) => {
  const carried = new DataTransfer();
  for (const [name, text] of Object.entries(files)) carried.items.add(new File([text], name));
  for (const kind of ["dragenter", "dragover", "drop"]) {
    target.dispatchEvent(new DragEvent(kind, { bubbles: true, cancelable: true, dataTransfer: carried }));
  }
}"""
_SEARCHABLE_MS = 60_000


def markdown(name: str, text: str) -> dict[str, Any]:
    """Return a file as a person chooses it."""
    return {"name": name, "mimeType": "text/markdown", "buffer": text.encode()}


def expect_searchable(page: Page, count: int) -> None:
    """Wait until the uploads page reports that so many files can be found."""
    expect(page.locator("[data-summary]")).to_have_text(f"{count} of {count} added", timeout=_SEARCHABLE_MS)


def expect_done(page: Page, figure: str) -> None:
    """Wait until the page of an act reports its end, with this figure."""
    status = page.locator("#act").get_by_role("status")
    expect(status).to_contain_text("Done", timeout=_SEARCHABLE_MS)
    expect(status).to_contain_text(figure)


def upload_chosen_files(visitor: Visitor) -> None:
    page = visitor.page
    visitor.open("sources")
    visitor.follow("Upload files")
    name = f"anchors-of-{visitor.name}"
    page.locator("#file").set_input_files(
        [markdown(f"{name}-{n}.md", f"# {name}\n\nThe kedge {n} of {visitor.name} is heavy.") for n in (1, 2)]
    )
    expect_searchable(page, 2)
    visitor.page.locator("[data-searchable] a").first.click()
    page.locator("[data-search-box]").press_sequentially(f"kedge of {visitor.name}")

    expect(page.locator("[data-result]").filter(has_text=name)).to_have_count(2)
    page.locator("[data-result] h2 a").first.click()
    page.get_by_label("More actions").click()
    visitor.follow("Indexed text")
    expect(page.locator(".chunk").first).to_be_visible()


def upload_dropped_files(visitor: Visitor) -> None:
    page = visitor.page
    visitor.open("upload")
    page.get_by_text("Options", exact=True).click()
    page.get_by_label("Folder (optional)").fill(f"dropped/{visitor.name}")
    files = {"capstan.md": f"The capstan of {visitor.name} squeaks."}
    page.evaluate(_DROP, [page.locator("[data-drop]").element_handle(), files])
    expect_searchable(page, 1)

    expect(page.locator("[data-added]")).to_contain_text(f"dropped/{visitor.name}/capstan.md")


def upload_a_folder(visitor: Visitor) -> None:
    page = visitor.page
    folder = visitor.folder / "carried"
    (folder / "below").mkdir(parents=True)
    (folder / "below" / "deep.md").write_text(f"The deep lead of {visitor.name}.")
    (folder / "top.md").write_text(f"The top mark of {visitor.name}.")
    visitor.open("upload")
    page.get_by_text("Options", exact=True).click()
    page.get_by_label("Folder (optional)").fill(visitor.name)
    page.locator("#tree").set_input_files(folder)
    expect_searchable(page, 2)

    expect(page.locator("[data-added]")).to_contain_text(f"{visitor.name}/carried/below/deep.md")


def add_a_source_sync_edit_and_delete_it(visitor: Visitor) -> None:
    page, key = visitor.page, f"logs-{visitor.name}"
    folder = visitor.folder / "logs"
    folder.mkdir()
    (folder / "monday.md").write_text(f"# Monday\n\n{visitor.name} saw a waterspout.")
    visitor.open("sources")
    visitor.follow("Add a source")
    page.locator('a[href*="kind=folder"]').click()
    page.get_by_label("Folder", exact=True).fill(str(folder))
    page.get_by_text("Options", exact=True).click()
    page.get_by_label("Key", exact=True).fill(key)
    page.get_by_label("Title", exact=True).fill(f"Logs of {visitor.name}")
    visitor.submit("Add source")
    expect_done(page, "1 new")
    (folder / "tuesday.md").write_text(f"# Tuesday\n\n{visitor.name} saw a whale.")
    visitor.open("sources")
    visitor.follow(f"Logs of {visitor.name}")
    visitor.submit("Sync now")
    expect_done(page, "1 new")
    page.locator(".facts-table").get_by_role("link", name=f"Logs of {visitor.name}").click()
    expect(page.get_by_role("link", name="Tuesday")).to_be_visible()
    visitor.follow("Edit")
    page.get_by_text("Options", exact=True).click()
    page.get_by_label("Tags", exact=True).fill("weather")
    visitor.submit("Save")
    expect(page.locator(".facts-table .tag")).to_have_text("weather")
    page.get_by_text("Delete this source…").click()
    visitor.submit("Delete source")
    source_link = page.get_by_role("link", name=f"Logs of {visitor.name}")

    visitor.open("sources")
    visitor.reload_until(lambda: source_link.count() == 0, "the source is gone")


def see_why_a_file_could_not_be_read(visitor: Visitor) -> None:
    page, name = visitor.page, f"wreck-{visitor.name}.pdf"
    visitor.open("upload")
    page.locator("#file").set_input_files(
        [{"name": name, "mimeType": "application/pdf", "buffer": b"%PDF-1.7\n no such thing"}]
    )
    refused = page.locator("[data-refused]")
    expect(refused).to_contain_text("It is damaged or cut off.", timeout=_SEARCHABLE_MS)
    visitor.follow("View activity")

    expect(page.locator(".refused-files")).to_contain_text(name)


def watch_a_job_and_cancel_it(visitor: Visitor) -> None:
    page, folder = visitor.page, visitor.folder / "many"
    folder.mkdir()
    for number in range(4_000):
        (folder / f"{number}.md").write_text(f"# Sounding {number}\n\nNo ground at {number} fathoms.")
    visitor.open("sources/new?kind=folder")
    page.get_by_label("Folder", exact=True).fill(str(folder))
    page.get_by_text("Options", exact=True).click()
    page.get_by_label("Key", exact=True).fill(f"many-{visitor.name}")
    visitor.submit("Add source")
    expect(page.locator("#cancel")).to_be_visible(timeout=_SEARCHABLE_MS)
    visitor.submit("Cancel")

    expect(page.locator("#act .state").first).to_have_text("Cancelled", timeout=_SEARCHABLE_MS)


TASKS = (
    Task(do=upload_chosen_files, need=Role.EDITOR, begins_at="upload"),
    Task(do=upload_dropped_files, need=Role.EDITOR, begins_at="upload"),
    Task(do=upload_a_folder, need=Role.EDITOR, begins_at="upload"),
    Task(do=add_a_source_sync_edit_and_delete_it, need=Role.EDITOR, begins_at="sources/new"),
    Task(do=see_why_a_file_could_not_be_read, need=Role.EDITOR, begins_at="upload"),
    Task(
        do=watch_a_job_and_cancel_it, need=Role.EDITOR, begins_at="activity", control="main form[method=post]"
    ),
)
