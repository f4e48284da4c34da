"""Sample files of each kind with words in them and the place that a hit on the words must cite."""

from dataclasses import dataclass

#: path, fragment of the citation, language, words; the title where it isn't the file's own name.
_TABLE = """
markdown/moorings.md | L16-L28 | en | chafed rope is *never* doubled | Moorings and berths
markdown/pilotage.mdx | L7-L16 | en | foul with old chain | Coming in by night
rst/backup.rst | L19-L37 | en | when the gauges write least | Backing up the tide gauges
markup/watch.org | L6-L24 | en | door of the powder store | Night watch on the north mole
markup/dredging.adoc | L7-L39 | en | while the chain is laid across the basin | Dredging the inner basin
markup/pilot-cutters.wiki | L4-L19 | en | steam cutters waited on station | Pilot cutters
markup/swell.tex | L9-L21 | en | make moored ships surge at their ropes | Swell in the outer harbour
html/backup-furo.html | L311-L337 | en | A day that is not intact stays | Backing up the tide gauges
html/pilots-material.html | L406-L433 | en | A ladder with a broken step is cut up | Pilots
html/visit-chromium.html | L7-L8 | en | open to visitors on Tuesdays, from ten | Visiting the lock
git/history.txt | L18-L25 | en | froze on most mornings | commit 45f77a50d03967260b948ecf54eb38d6bbba8c9d
notebook/tides.ipynb | L10-L33 | en | Readings of one day, in **centimetres** | Tides at the north quay
svg/tide.svg | L5-L162 | en | Water at the north quay | Tide curve
xml/keeping.dbk | L6-L7 | en | and wipe the prism with linen | Keeping the lantern
cards/crew.ics | L5-L8 | en | The silt survey is shown | Crew of the mole
cards/crew.vcf | L4-L5 | en | Answers for the icebreaker contract | Solveig Tern
diagram/gates.drawio | L4 | en | goes to the pilot house | Gates
diagram/gates.excalidraw | L1-L6 | und | The upper gate opens last | The upper gate opens last
web_archive/rules.mht | L9 | en | hangs behind the clock | Boathouse rules
charset/rules-cp1252.txt | L1-L3 | de | prüft jede Änderung | Hafenordnung
charset/rules-cp1251.txt | L1-L3 | ru | северном причале | Правила порта
charset/rules-shift_jis.txt | L1-L3 | ja | 水門を開く前に | 港の規則
charset/rules-utf16le.txt | L1-L3 | ru | северном причале | Правила порта
table/gauges.csv | L2-L6 | und | float sticks in frost
structured/gauges.json | L1-L4 | und | frost; knock twice
structured/harbour.json | L53-L71 | und | "number": 12
structured/harbour.yaml | L1-L48 | und | opens_at_cm: 310
structured/harbour.toml | L1-L19 | und | who is called when the water is high
structured/lock.properties | L1-L6 | und | gate opens only while the sluice below
gettext/harbour.po | L12-L33 | und | die Heckleine losmachen
structured/gauged.log | L12-L26 | und | no copy tonight
code/ledger.py | L22-L33 | und | Columns are fixed: tools of the tax office read them
code/Basket.jsx | L25-L38 | und | stored basket was unreadable and is emptied
code/queue.ts | L33-L38 | und | Injected by the container; see registry.ts
code/limiter.go | L62-L68 | und | Allow takes a token of the key's bucket
code/Inventory.java | L94-L107 | und | Shown on the front page, so it must stay cheap
code/ring.rs | L63-L73 | und | gives the oldest one back where it took its place
code/table.c | L49-L71 | und | slots are freed only when all of that went well
code/matrix.hpp | L35-L41 | und | There is no such element
code/Orders.cs | L60-L79 | und | The reference lets the bank recognise a charge
code/mailbox.rb | L47-L53 | und | A letter needs somebody to go to
code/Router.php | L60-L72 | und | Parameters are named in braces
code/backup.sh | L26-L35 | und | without it the copy would fill the root disk
email/wreck.eml | L1-L53 | en | père Brière's line is too short | Schiffbruch der Forfarshire: Überlebende gesichtet
email/soldiers.eml | L1-L12 | en | Two soldiers upset their boat | Soldiers in the harbour
email/report.eml | L1-L30 | en | The second time father took two | Report of the rescue
email/pilots.mbox | L29-L41 | en | at slack water on Thursday
email/winch.msg | L1-L9 | en | worn to the rivets | Winch of the tender
office/handbook.docx | L3-L32 | en | Use spirit of wine and a linen cloth | Lighthouse keeper's handbook
office/handbook.epub | page=2 | en | trim the wick every four hours | Lighthouse keeper's handbook
office/handbook.odt | L3-L32 | en | Use spirit of wine and a linen cloth | Lighthouse keeper's handbook
office/handbook.rtf | L1-L29 | en | Use spirit of wine and a linen cloth | Lighthouse keeper's handbook
office/signals.odp | page=2 | en | 920 millimetres | Building Skerryvore
office/tides.ods | page=2 | en | Ida Lewis of Lime Rock | High water
office/signals.pptx | page=2 | en | 920 millimetres | Building Skerryvore
office/tides.xlsx | page=2 | en | Ida Lewis of Lime Rock | High water
pdf/printed.pdf | page=2 | en | the marmalade siren sounds twice | Operations handbook
pdf/outlined.pdf | page=4 | en | strikes the rail | Keeping the lighthouse
pdf/scanned.pdf | page=1 | en | Dogs travel free of charge | Notice to all keepers
image/notice.png | xywh=34,42,504,193 | en | The ferry leaves the pier at 18:45 sharp | Notice to all keepers
image/notice.jpg | xywh=34,43,504,193 | en | The ferry leaves the pier at 18:45 sharp | Notice to all keepers
transcript/talk.vtt | t=822.000,850.000 | en | The miller of Eling slept | Ada Miller: Welcome to the evening about tide mills.
transcript/harbour.srt | t=3723.500,3726.000 | en | An hour later the winch was running | Previously, on the harbour wall: the crane had stopped.
"""  # noqa: E501
_CHARSETS = {
    "charset/rules-cp1252.txt": "cp1252",
    "charset/rules-cp1251.txt": "cp1251",
    "charset/rules-shift_jis.txt": "shift_jis",
    "charset/rules-utf16le.txt": "utf-16-le",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedFile:
    """A file of `tests/files`; `words` stand in it once, at the place that `fragment` names."""

    path: str
    fragment: str
    lang: str
    words: str
    title: str

    @property
    def uri(self) -> str:
        return f"{self.path}#{self.fragment}"

    @property
    def kind(self) -> str:
        """Return the folder that it is in."""
        return self.path.partition("/")[0]

    @property
    def charset(self) -> str:
        return _CHARSETS.get(self.path, "utf-8")


def _parse(row: str) -> CitedFile:
    path, fragment, lang, words, *title = row.split(" | ")
    own = path if path.startswith("code/") else path.rpartition("/")[2]
    return CitedFile(path=path, fragment=fragment, lang=lang, words=words, title=title[0] if title else own)


FILES = tuple(map(_parse, _TABLE.strip().split("\n")))
