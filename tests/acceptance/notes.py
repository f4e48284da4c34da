"""A folder of small documents."""

from pathlib import Path

_SUBJECTS = ("harbour", "lantern", "orchard", "glacier", "compass")


def write_notes(folder: Path) -> Path:
    """Write five documents of two chunks each, and return the folder."""
    for number, subject in enumerate(_SUBJECTS):
        text = f"# The {subject}\n\nAll about it, chapter {number}.\n\n## Care\n\nKeep the {subject} dry.\n"
        (folder / f"{subject}.md").write_text(text)
    return folder
