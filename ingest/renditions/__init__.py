"""Renditions: documents of all formats as parts that a page can show, such as headings and tables.

Everything in a part is plain text; the page escapes it (`search.pages.document.rendition`).
"""
