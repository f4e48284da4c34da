"""Parsers of images: OCR and SVG."""
