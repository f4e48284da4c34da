import pytest

from ingest.parsers.content_type import identify
from ingest.parsers.errors import ParseRefused

PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + b"\x00" * 40
FLAC = b"fLaC\x00\x00\x00\x22" + b"\x00" * 40


@pytest.mark.parametrize(
    ("path", "mime", "media", "parsers"),
    [
        ("a.md", "text/markdown", "text", ("markdown", "text")),
        ("a.MDX", "text/mdx", "text", ("markdown", "text")),
        ("a.txt", "text/plain", "text", ("text",)),
        ("a.rst", "text/x-rst", "text", ("rst", "text")),
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
    with pytest.raises(ParseRefused, match="no parser for audio/") as refusal:
        identify(FLAC, "notes.md")
    assert refusal.value.code == "no_parser"


@pytest.mark.parametrize("path", ["file", "notes.md", "a.pdf", "a.png"])
@pytest.mark.parametrize(
    ("content", "mime", "media"),
    [
        (b"%PDF-1.7 text only", "application/pdf", "pdf"),
        (b"X-Header: mail\r\n\r\n%PDF-1.4\n\x00\x01", "application/pdf", "pdf"),
        (PNG, "image/png", "image"),
        (b"\xff\xd8\xff\xe0\x00\x10JFIF\x00", "image/jpeg", "image"),
        (b"RIFF\x24\x00\x00\x00WEBPVP8 ", "image/webp", "image"),
        (b"GIF89a\x01\x00\x01\x00", "image/gif", "image"),
        (b"II*\x00\x08\x00\x00\x00", "image/tiff", "image"),
    ],
)
def test_pages_and_pictures_go_by_their_content(content, mime, media, path):
    file = identify(content, path)
    assert (file.mime, file.media, file.parsers) == (mime, media, (media,))


@pytest.mark.parametrize("path", ["a.pdf", "a.png"])
def test_text_with_the_name_of_a_picture_is_text(path):
    assert identify(b"just a few words\n", path).parsers == ("text",)


def test_subtitles_go_by_their_name():
    for path, mime in (("a.vtt", "text/vtt"), ("a.srt", "application/x-subrip")):
        file = identify(b"1\n00:00:01,000 --> 00:00:02,000\nwords\n", path)
        assert (file.mime, file.media, file.parsers) == (mime, "transcript", ("transcript", "text"))


def test_unknown_binary_is_refused():
    with pytest.raises(ParseRefused, match="application/octet-stream"):
        identify(bytes(range(256)) * 8, "blob.dat")


def test_stray_nul_in_named_text_is_still_text():
    assert identify(b"# Title\n\nwords \x00 more words here, and more\n" * 3, "a.md").parsers[0] == "markdown"


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
