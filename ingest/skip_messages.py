"""Messages for the reasons why files are skipped, fail or have no text, for the people who added them.

In English; pages translate them.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from django.utils.translation import gettext_noop as _

#: Reason of a document without text.
NO_TEXT: Final = "no_text"
_REFUSALS: Final = {
    "no_parser": _("No parser reads files of this kind. Save it as a PDF, a .docx or a text file."),
    "unknown_charset": _("The encoding of its text can't be told. Save it as UTF-8."),
    "encrypted": _("It opens only with a password. Save a copy without one."),
    "closed_format": _("Only its own program reads it. Save it as PDF, .docx or .xlsx."),
    "old_format": _("An old Office format. Save it as .docx, .pptx or .xlsx."),
    "damaged": _("It is damaged or cut off. Replace it with a complete copy."),
    "lfs_pointer": _(
        "Git LFS keeps its content elsewhere. Fetch it (git lfs pull), and add the file itself."
    ),
    "wrong_type": _("It is not what its name says."),
    "xml_entities": _("Its XML declares entities that can grow without end."),
    "archive_bomb": _("It would unpack to an implausible size."),
    "too_many_pages": _("It has too many pages. Split it."),
    "too_many_chunks": _("It has too much text for one file. Split it."),
    "no_rung": _("No parser is left to try."),
    "quarantined": _("Every parser failed on it. It is tried again when the file or a parser changes."),
    "killed_its_worker": _("Reading it crashed again and again, so it was given up."),
}
#: Reasons of files that were refused or quarantined for their content.
UNREADABLE: Final = frozenset(_REFUSALS)
_SENTENCES: Final[Mapping[str, str]] = MappingProxyType(
    {
        # listings
        "ignored": _("A .gitignore or .kebabignore leaves it out."),
        "skipped_directory": _(
            "Folders of this name hold what tools download or build."
            " `!name/` in a .kebabignore brings one back."
        ),
        "lock_file": _("A lock file, written by a tool. `!name` in a .kebabignore brings it back."),
        "minified": _(
            "Written for machines: minified, or a line too long to be cited."
            " Add the source that it was made from."
        ),
        "generated": _("Generated code. `!name` in a .kebabignore brings it back."),
        "temporary_file": _(
            "A backup, a lock or another temporary file of a program."
            " `!name` in a .kebabignore brings it back."
        ),
        "excluded_folder": _("The project file excludes this folder."),
        "excluded_file": _("The project file excludes files of this name."),
        "outside_folders": _("The project file names the folders to read; this is in none of them."),
        "too_large": _("Too large. Split it, or leave it out with a .kebabignore."),
        "empty": _("It has 0 bytes."),
        "undecodable_name": _("Its name is not valid UTF-8. Rename it."),
        "control_character_in_name": _(
            "Its name contains a control character, or an invisible one. Rename it."
        ),
        "unsafe_name": _("This file name is not allowed."),
        "duplicate_path": _("Another file has the same path, as some characters can be written in two ways."),
        "path_too_long": _("Its path has more than 1,000 bytes. Shorten the names of its folders."),
        "link": _("A link; links are not followed here."),
        "directory_link": _("A link to a folder; only links to files are followed."),
        "link_outside": _("A link that leads out of the source."),
        "private_place": _("Kebab keeps its own files there; no source reads them."),
        "broken_link": _("A link that leads nowhere, or in a circle."),
        "special_file": _("Neither a file nor a folder: a pipe, a socket or a device."),
        "submodule": _("Another repository. Add it as a source of its own."),
        "vanished": _("It was listed, but gone before it could be read."),
        # web sites
        "disallowed_by_robots": _("The site's robots.txt asks not to read it."),
        "noindex": _("The page asks not to be indexed."),
        "not_found": _("The site says that it no longer exists."),
        "excluded_page": _("The configuration of the source excludes it."),
        "leads_elsewhere": _("It is on another host, or outside the part of the site that is read."),
        "redirect_loop": _("Its redirects never end."),
        "max_pages": _("The source has as many pages as its configuration allows."),
        "max_depth": _("It is more links away from the start page than the configuration allows."),
        "same_text": _("It shows the same text as another page, apart from dates at most."),
        "empty_page": _(
            "The page lacks text of its own: it needs JavaScript, or holds other pages in frames."
        ),
        "many_alike": _(
            "Many pages with addresses like this one show the same text, so it was not requested."
        ),
        # connectors of records
        "not_permitted": _(
            "Not everybody who may read the source may read it. Restrict the source to groups that may."
        ),
        "archived": _("It is in an archive of its storage. Restore it there, and sync again."),
        # archives
        "absolute_path": _("Its path in the archive begins at the root of a disk."),
        "path_outside": _("Its path in the archive leads out of the archive."),
        "backslash_in_path": _(
            "Its path in the archive contains a backslash. Pack it with `/` between names."
        ),
        "sparse_file": _("A sparse file. Pack it as an ordinary one."),
        "nested_archive": _("An archive in an archive; those are not opened. Upload it by itself."),
        "unknown_compression": _("Compressed with an unsupported method. Pack it with deflate."),
        "export_file": _("Data of the program that wrote the export, without text for readers."),
        "broken_member": _("It is damaged in the archive. Pack it again."),
        **_REFUSALS,
        # documents
        NO_TEXT: _(
            "It contains no text, so it is found by its name. If it is a picture of text, install OCR on"
            " every worker: pip install --no-deps -r deploy/requirements-ocr.txt"
        ),
        # processing
        "unreadable": _("It could not be opened or fetched."),
        "over_quota": _(
            "The workspace has reached its limit. Delete something, or ask the operator for more."
        ),
        "unstorable": _("It contains something that the database can't store."),
    }
)
#: All reason codes.
REASONS: Final = frozenset(_SENTENCES)


def is_refusal(outcome: str, reason: str, *, is_upload: bool) -> bool:
    """Return whether a file of this outcome failed or was refused for its content.

    Of a document that a person uploaded any reason counts; rules leave out other files on purpose.
    """
    return outcome == "failed" or (outcome == "skipped" and (is_upload or reason in UNREADABLE))


def explanations(reasons: Iterable[str]) -> dict[str, str]:
    """Return the message of each known reason code; unknown codes are left out."""
    return {reason: _SENTENCES[reason] for reason in reasons if reason in _SENTENCES}
