import pytest

from ingest.parsers.content_type import identify
from ingest.parsers.errors import ParseRefused

PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + b"\x00" * 40


@pytest.mark.parametrize(
    ("path", "mime", "media", "parsers"),
    [
        ("a.md", "text/markdown", "text", ("markdown", "text")),
        ("a.MDX", "text/mdx", "text", ("markdown", "text")),
        ("a.html", "text/html", "text", ("html", "text")),
        ("a.txt", "text/plain", "text", ("text",)),
        ("a.rst", "text/x-rst", "text", ("text",)),
        ("a.json", "application/json", "text", ("structured", "text")),
        ("src/a.py", "text/x-python", "code", ("code", "text")),
        ("Dockerfile", "text/x-dockerfile", "code", ("code", "text")),
        ("README", "text/plain", "text", ("text",)),
        (".hidden", "text/plain", "text", ("text",)),
    ],
)
def test_text_goes_by_its_name(path, mime, media, parsers):
    file = identify(b"plain words\n", path)
    assert (file.mime, file.media, file.parsers) == (mime, media, parsers)


def test_content_overrules_the_name():
    with pytest.raises(ParseRefused, match="no parser for image/png") as refusal:
        identify(PNG, "notes.md")
    assert refusal.value.code == "no_parser"


@pytest.mark.parametrize(
    ("content", "mime"),
    [
        (b"%PDF-1.7 text only", "application/pdf"),
        (PNG, "image/png"),
        (b"GIF89a\x01\x00\x01\x00", "image/gif"),
    ],
)
def test_binary_is_refused_by_type(content, mime):
    with pytest.raises(ParseRefused, match=mime):
        identify(content, "file")


def test_unknown_binary_is_refused():
    with pytest.raises(ParseRefused, match="application/octet-stream"):
        identify(bytes(range(256)) * 8, "blob.dat")


def test_stray_nul_in_named_text_is_still_text():
    assert identify(b"# Title\n\nwords \x00 more words here, and more\n" * 3, "a.md").parsers[0] == "markdown"


def test_notebook_is_refused_until_there_is_a_parser():
    with pytest.raises(ParseRefused, match="ipynb"):
        identify(b"{}", "a.ipynb")


@pytest.mark.parametrize(
    ("content", "parser"),
    [
        (b"<!DOCTYPE html><p>x", "html"),
        (b"\n<!-- made by hand -->\n<html lang=en>", "html"),
        (b"#!/usr/bin/env python3\nprint()\n", "code"),
        (b"#!/bin/bash -e\ntrue\n", "code"),
        (b"#!/opt/unknown\n", "text"),
        (b"<p>no page", "text"),
    ],
)
def test_nameless_text_is_sniffed(content, parser):
    assert identify(content, "script").parsers[0] == parser


def test_comments_before_the_page_do_not_take_exponential_time():
    assert identify(b"<!---->" * 500 + b"<p>", "page").parsers == ("text",)
