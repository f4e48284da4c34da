#!/usr/bin/env python
"""Django's command line; `kebab VERB` is the same."""

from kebab.__main__ import main

if __name__ == "__main__":
    main()
