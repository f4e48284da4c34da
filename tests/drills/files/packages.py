"""Packages of which the drill takes test files, by registry."""

#: source packages of Python's index
PYPI = """
    python-docx python-pptx pydocx pandas python-calamine pyexcel pyexcel-xlsx tablib odfpy ezodf relatorio ebooklib
    pypdf pikepdf tabula-py ocrmypdf mail-parser talon icalendar vobject pysrt webvtt-py
    html2text trafilatura html5lib newspaper4k inscriptis html-text lxml nbformat nbconvert docutils
""".split()

#: packages of npm, which seldom publish their tests
NPM = ("mammoth",)

#: source packages of Debian
DEBIAN = """
    libapache-poi-java libexcel-writer-xlsx-perl libxlsxwriter gnumeric libodfdom-java calligra abiword pandoc calibre
    libpdfbox2-java libpdfbox-java pdf.js pdfminer qpdf okular unrtf
    python3.11 notmuch spamassassin gmime kmime php-horde-mime libical3 evolution-data-server
""".split()
