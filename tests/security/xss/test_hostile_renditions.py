"""Documents of every format whose text is markup that would run, drawn in real Chromium."""

import io
import json
from email.message import EmailMessage

import pytest
from docx import Document as WordDocument

from kebab.identity.models import Membership, Role, User, Workspace
from tests.pages.search.shelf import Passage, shelve
from tests.security.xss.hostile import ADDRESS, hostile
from tests.support.browser import needs_browser

pytestmark = [*needs_browser, pytest.mark.django_db(transaction=True)]

_HTML = f"""<html><head><base href="//evil.example/"><meta http-equiv="refresh" content="0;url={ADDRESS}">
<link rel="stylesheet" href="//evil.example/a.css"></head><body onload="window.__xss=1"><h1>{hostile()}</h1>
<p>{hostile()}</p><a href="{ADDRESS}">a</a><a href="  java\nscript:window.__xss=1">b</a>
<a href="data:text/html,x">c</a><img src="//evil.example/x.png">
<form action="{ADDRESS}"><input name=q><button formaction="{ADDRESS}">go</button></form>
<svg><a xlink:href="{ADDRESS}"><text>x</text></a></svg>
<math><mtext><table><mglyph><style><img src=x onerror=__xss=1></style></table></math>
<table><caption>{hostile()}</caption><tr><td style="background:url({ADDRESS})">{hostile()}</table>
<textarea><p>{hostile()}</textarea><pre>{hostile()}</pre>
<iframe src="{ADDRESS}"></iframe><object data="{ADDRESS}"></object>
"""
_RST = f"""{"=" * 20}
{hostile(300)}

`go <{ADDRESS}>`_

.. image:: {ADDRESS}
   :target: {ADDRESS}

.. raw:: html

   {hostile()}

.. note:: {hostile()}

.. _t: {ADDRESS}

See t_ and :math:`{hostile(100)}`.

.. code-block:: html

   {hostile()}
"""


def _notebook():
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": [hostile(), f"\n[go]({ADDRESS})"]},
        {
            "cell_type": "code",
            "metadata": {},
            "execution_count": 1,
            "source": hostile(),
            "outputs": [
                {"output_type": "display_data", "metadata": {}, "data": {"text/html": hostile()}},
                {"output_type": "stream", "name": "stdout", "text": hostile()},
            ],
        },
    ]
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells})


def _mail():
    mail = EmailMessage()
    mail["Subject"], mail["From"] = (
        "Re: <script>window.__xss=1</script>",
        '"<img src=x onerror=__xss=1>" <a@b.example>',
    )
    mail.set_content("x")
    mail.add_alternative(_HTML, subtype="html")
    return mail.as_string()


def _word():
    document = WordDocument()
    document.add_heading(hostile().replace("\x01", "").replace("\x1b", ""), 1)
    document.add_table(1, 1).cell(0, 0).text = _HTML.replace("\x01", "").replace("\x1b", "")
    content = io.BytesIO()
    document.save(content)
    return content.getvalue().decode("latin-1")


_FILES = {
    "a.html": ("text", "text/html", _HTML),
    "a.rst": ("text", "text/x-rst", _RST),
    "a.ipynb": ("text", "application/x-ipynb+json", _notebook()),
    "a.csv": ("text", "text/csv", f'a,b\n"{hostile().replace(chr(34), chr(34) * 2)}",2\n' * 3),
    "a.adoc": ("text", "text/asciidoc", f"= {hostile()}\n\nlink:{ADDRESS}[go]\n\n++++\n{hostile()}\n++++\n"),
    "a.org": (
        "text",
        "text/org",
        f"* {hostile()}\n\n[[{ADDRESS}][go]]\n\n#+BEGIN_EXPORT html\n{hostile()}\n#+END_EXPORT",
    ),
    "a.wiki": ("text", "text/x-wiki", f"== {hostile()} ==\n\n[{ADDRESS} go]\n\n{hostile()}"),
    "a.tex": (
        "text",
        "application/x-tex",
        f"\\section{{{hostile()}}}\n\\href{{{ADDRESS}}}{{go}}\n{hostile()}",
    ),
    "a.eml": ("email", "message/rfc822", _mail()),
    "a.docx": ("office", "application/vnd.openxmlformats-officedocument", _word()),
}


def test_no_rendition_runs_loads_or_offers_what_would_run(open_watched_page, transactional_db, mirrors):
    workspace = Workspace.objects.create(slug="shelf", name="Shelf")
    reader = User.objects.create_user("ada@example.org")
    Membership.objects.create(workspace=workspace, user=reader, role=Role.EDITOR)
    page = open_watched_page(reader)
    drawn = 0
    for path, (media, mime, text) in _FILES.items():
        charset = "latin-1" if path.endswith("docx") else "utf-8"
        document = shelve(
            workspace, path, text, media=media, mime=mime, charset=charset, passages=[Passage(text=hostile())]
        )
        for view in ("", "&view=source"):
            page.visit(f"/w/shelf/documents/{document.doc_id.hex}?q=window+go+xss{view}")
            drawn += bool(page.page.query_selector(".rendered"))

    assert page.faults == []
    assert page.rejected == []
    assert drawn >= len(_FILES)
