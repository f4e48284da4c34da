"""A real file of each kind that is read: its title, its language, words in it, and where they are cited."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedFile:
    """A file of `tests/files`; `words` stand in it once, at the place that `fragment` names."""

    path: str
    title: str
    words: str
    fragment: str
    lang: str = "en"
    charset: str = "utf-8"

    @property
    def uri(self) -> str:
        return f"{self.path}#{self.fragment}"


def _of(path: str, title: str, words: str, fragment: str, **others: str) -> CitedFile:
    return CitedFile(path=path, title=title, words=words, fragment=fragment, **others)


def _code(name: str, words: str, fragment: str) -> CitedFile:
    return _of(f"code/{name}", f"code/{name}", words, fragment, lang="und")


def _data(path: str, words: str, fragment: str) -> CitedFile:
    return _of(path, path.rpartition("/")[2], words, fragment, lang="und")


TEXT = (
    _of("markdown/moorings.md", "Moorings and berths", "chafed rope is *never* doubled", "L18-L23"),
    _of("markdown/pilotage.mdx", "Coming in by night", "foul with old chain", "L14-L18"),
    _of("rst/backup.rst", "Backing up the tide gauges", "when the gauges write least", "L19-L37"),
    _of("html/backup-furo.html", "Backing up the tide gauges", "A day that is not intact stays", "L311-L337"),
    _of("html/pilots-material.html", "Pilots", "A ladder with a broken step is cut up", "L409-L430"),
    _of("html/visit-chromium.html", "Visiting the lock", "open to visitors on Tuesdays, from ten", "L7-L8"),
    _of(
        "git/history.txt",
        "commit 45f77a50d03967260b948ecf54eb38d6bbba8c9d",
        "froze on most mornings",
        "L18-L25",
    ),
    _of(
        "notebook/tides.ipynb",
        "Tides at the north quay",
        "Readings of one day, in **centimetres**",
        "L10-L33",
    ),
    _of("svg/tide.svg", "Tide curve", "Water at the north quay", "L5-L162"),
)
CHARSETS = (
    _of(
        "charset/rules-cp1252.txt",
        "Hafenordnung",
        "prüft jede Änderung",
        "L1-L3",
        lang="de",
        charset="cp1252",
    ),
    _of(
        "charset/rules-cp1251.txt", "Правила порта", "северном причале", "L1-L3", lang="ru", charset="cp1251"
    ),
    _of("charset/rules-shift_jis.txt", "港の規則", "水門を開く前に", "L1-L3", lang="ja", charset="shift_jis"),
    _of(
        "charset/rules-utf16le.txt",
        "Правила порта",
        "северном причале",
        "L1-L3",
        lang="ru",
        charset="utf-16-le",
    ),
)
DATA = (
    _data("table/gauges.csv", "float sticks in frost", "L2-L6"),
    _data("structured/gauges.json", "frost; knock twice", "L1-L4"),
    _data("structured/harbour.json", '"number": 12', "L53-L71"),
    _data("structured/harbour.yaml", "opens_at_cm: 310", "L1-L48"),
    _data("structured/harbour.toml", "who is called when the water is high", "L1-L19"),
    _data("structured/gauged.log", "no copy tonight", "L12-L26"),
)
CODE = (
    _code("ledger.py", "Columns are fixed: tools of the tax office read them", "L22-L33"),
    _code("Basket.jsx", "stored basket was unreadable and is emptied", "L25-L38"),
    _code("queue.ts", "Injected by the container; see registry.ts", "L33-L38"),
    _code("limiter.go", "Allow takes a token of the key's bucket", "L62-L68"),
    _code("Inventory.java", "Shown on the front page, so it must stay cheap", "L94-L107"),
    _code("ring.rs", "gives the oldest one back where it took its place", "L63-L73"),
    _code("table.c", "slots are freed only when all of that went well", "L49-L71"),
    _code("matrix.hpp", "There is no such element", "L35-L41"),
    _code("Orders.cs", "The reference lets the bank recognise a charge", "L60-L79"),
    _code("mailbox.rb", "A letter needs somebody to go to", "L47-L53"),
    _code("Router.php", "Parameters are named in braces", "L60-L72"),
    _code("backup.sh", "without it the copy would fill the root disk", "L26-L35"),
)
MAIL = (
    _of(
        "email/wreck.eml",
        "Schiffbruch der Forfarshire: Überlebende gesichtet",
        "père Brière's line is too short",
        "L1-L50",
    ),
    _of("email/soldiers.eml", "Soldiers in the harbour", "Two soldiers upset their boat", "L9-L10"),
    _of("email/report.eml", "Report of the rescue", "The second time father took two", "L20-L30"),
)
OFFICE = (
    _of(
        "office/handbook.docx",
        "Lighthouse keeper's handbook",
        "Use spirit of wine and a linen cloth",
        "L11-L16",
    ),
    _of("office/signals.pptx", "Building Skerryvore", "920 millimetres", "page=2"),
    _of("office/tides.xlsx", "High water", "Ida Lewis of Lime Rock", "page=2"),
)
PRINTED = (
    _of("pdf/printed.pdf", "Operations handbook", "the marmalade siren sounds twice", "page=2"),
    _of("pdf/outlined.pdf", "Keeping the lighthouse", "strikes the rail", "page=4"),
)
SCANS = (_of("pdf/scanned.pdf", "Notice to all keepers", "Dogs travel free of charge", "page=1"),)
PAGES = (*PRINTED, *SCANS)
PICTURES = (
    _of(
        "image/notice.png",
        "Notice to all keepers",
        "The ferry leaves the pier at 18:45 sharp",
        "xywh=34,42,504,193",
    ),
    _of(
        "image/notice.jpg",
        "Notice to all keepers",
        "The ferry leaves the pier at 18:45 sharp",
        "xywh=34,43,504,193",
    ),
)
TRANSCRIPTS = (
    _of(
        "transcript/talk.vtt",
        "Ada Miller: Welcome to the evening about tide mills.",
        "The miller of Eling slept",
        "t=822.000,850.000",
    ),
    _of(
        "transcript/harbour.srt",
        "Previously, on the harbour wall: the crane had stopped.",
        "An hour later the winch was running",
        "t=3723.500,3726.000",
    ),
)
FILES = (*TEXT, *CHARSETS, *DATA, *CODE, *MAIL, *OFFICE, *PAGES, *PICTURES, *TRANSCRIPTS)
