"""Server-rendered pages for browsers, usable without JavaScript."""
