"""The folders of a mailbox that are read."""

from types import SimpleNamespace

import pytest

from ingest.connectors.records.mailbox import _list_folders


def read_folders(*folders, delimiter=b"/"):
    """Return the paths that are read of folders: names, or names with flags."""
    rows = [(name, ()) if isinstance(name, str) else name for name in folders]
    client = SimpleNamespace(list_folders=lambda: [(flags, delimiter, name) for name, flags in rows])
    return [path for _, path in _list_folders(client)]


@pytest.mark.parametrize(
    "name",
    [
        "Trash",
        "Drafts",
        "Junk E-Mail",
        "Papierkorb",
        "ENTWU\u0308RFE",
        "Courrier indésirable",
        "Корзина",
        "草稿",
    ],
)
def test_folders_of_a_server_without_flags_are_left_out_by_their_names(name):
    nested = (f"INBOX/{name}", f"{name}/2024", f"[Google Mail]/{name}")
    assert read_folders("INBOX", "Projects", name, *nested) == ["INBOX", "Projects"]
    assert read_folders("INBOX", f"INBOX.{name}", delimiter=b".") == ["INBOX"]


def test_name_below_another_folder_or_within_a_longer_one_is_read():
    names = ["Projects/Drafts", "Trash talk", "INBOX/Projects/Spam"]
    assert read_folders(*names) == names


def test_flagged_folder_is_left_out_with_those_in_it_and_an_unselectable_one_alone():
    flagged = ("Removed", (b"\\HasChildren", b"\\Trash"))
    assert read_folders(flagged, "Removed/old", ("Team", (b"\\Noselect",)), "Team/a") == ["Team/a"]
