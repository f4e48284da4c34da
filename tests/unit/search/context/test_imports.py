"""Imports resolve to paths: each rule on lines of real projects."""

from hypothesis import given
from hypothesis import strategies as st

from search.context.imports import IMPORT_LANGUAGES, MAX_IMPORTS, parse_imports

PACKAGE, ACCESS = "kebab/people/__init__.py", "kebab/people/access.py"
CART, BASKET = "java/org/acme/shop/Cart.java", "java/org/acme/shop/Basket.java"
EXISTING = (
    PACKAGE, ACCESS, "services/a/app/db.py", "services/b/app/db.py", "src/app/db.py", "src/ui/button.tsx",
    "src/types/index.ts", "src/setup.ts", "lib/load.js", "src/data.json", "src/Page.vue",
    f"src/main/{CART}", "org/acme/shop/Cart.java", f"app/src/testFixtures/{BASKET}", "src/parser.rs",
    "src/parser/lexer.rs", "crates/a/src/parser/mod.rs", "crates/a/src/lib.rs", "tests/suite/shop.rs",
)  # fmt: skip
#: lines of each language, the file that they stand in, and the existing files that they mean
CASES = {
    "python": [
        ("import kebab.people.access", "search/api/query.py", ACCESS),
        ("import kebab.people as people, os", "search/api/query.py", PACKAGE),
        ("import os, kebab.people", "search/api/query.py", PACKAGE),
        ("from kebab.people.access import Access", "search/api/query.py", ACCESS),
        ("from kebab.people import access", "search/api/query.py", PACKAGE, ACCESS),
        ("    from kebab.people import access  # late", "search/api/query.py", PACKAGE, ACCESS),
        ("from . import access", "kebab/people/tokens.py", PACKAGE, ACCESS),
        ("from .access import Access", "kebab/people/tokens.py", ACCESS),
        ("from ..people.access import Access", "kebab/api/views.py", ACCESS),
        ("from .. import people", "kebab/api/views.py", PACKAGE),
        ("from kebab.people import (\n    admin,\n    access,  # who\n)", "a.py", PACKAGE, ACCESS),
        ("from kebab.people import admin, \\\n    access", "a.py", PACKAGE, ACCESS),
        ("from app.db import Session", "services/a/app/main.py", "services/a/app/db.py"),
        ("from app.db import Session", "tests/test_db.py", "src/app/db.py"),
    ],
    "typescript": [
        ("import { Button } from './button';", "src/ui/form.ts", "src/ui/button.tsx"),
        ('import Button from "./button"', "src/ui/form.ts", "src/ui/button.tsx"),
        ("import {a}from'./button'", "src/ui/form.ts", "src/ui/button.tsx"),
        ("import type { Props } from '../types'", "src/ui/form.ts", "src/types/index.ts"),
        ("import {\n  one,\n  two as three,\n} from '../types';", "src/ui/form.ts", "src/types/index.ts"),
        ("export * from './button'", "src/ui/index.ts", "src/ui/button.tsx"),
        ("import './setup.js'", "src/main.ts", "src/setup.ts"),
        ("import { x } from './setup.js'", "src/main.ts", "src/setup.ts"),
        ("const { x } = require('./lib/load')", "index.js", "lib/load.js"),
        ("const x = await import('./lib/load')", "index.js", "lib/load.js"),
        ("load(() => import('./lib/load'))", "index.js", "lib/load.js"),
        ("import data from './data.json'", "src/main.ts", "src/data.json"),
        ("import Page from './Page.vue'", "src/main.ts", "src/Page.vue"),
        ("import * as all from '.'", "src/types/a.ts", "src/types/index.ts"),
    ],
    "java": [
        ("import org.acme.shop.Cart;", "src/main/java/org/acme/Main.java", f"src/main/{CART}"),
        ("import org.acme.shop.Cart;", "src/test/java/org/acme/MainTest.java", f"src/main/{CART}"),
        ("import static org.acme.shop.Cart.empty;", "src/main/java/org/acme/Main.java", f"src/main/{CART}"),
        ("import org.acme.shop.Cart;", "org/acme/web/Main.java", "org/acme/shop/Cart.java"),
        (
            "import org.acme.shop.Basket;",
            "app/src/test/java/org/acme/MainTest.java",
            f"app/src/testFixtures/{BASKET}",
        ),
    ],
    "rust": [
        ("mod parser;", "src/lib.rs", "src/parser.rs"),
        ("pub(crate) mod lexer;", "src/parser.rs", "src/parser/lexer.rs"),
        ("mod lexer;", "src/parser/mod.rs", "src/parser/lexer.rs"),
        ("use crate::parser::lexer::Token;", "src/main.rs", "src/parser/lexer.rs"),
        ("use crate::parser::Parser;", "crates/a/src/x.rs", "crates/a/src/parser/mod.rs"),
        ("use super::lexer::Token;", "src/parser/tree.rs", "src/parser/lexer.rs"),
        ("use super::super::parser;", "src/a/b.rs", "src/parser.rs"),
        ("use self::lexer::*;", "src/parser.rs", "src/parser/lexer.rs"),
        (
            "pub use crate::parser::{self, lexer::{Token, Kind as K}};",
            "src/a.rs",
            *("src/parser.rs", "src/parser/lexer.rs", "src/parser/lexer.rs"),
        ),
        ("use super::Parser;", "src/parser/tree.rs", "src/parser.rs"),
        ("use crate::Config;", "crates/a/src/parser/mod.rs", "crates/a/src/lib.rs"),
        ("use crate::shop::Cart;", "tests/suite/deep/add.rs", "tests/suite/shop.rs"),
        ("use std::fmt;\nuse serde::Serialize;", "src/a.rs"),
    ],
}


def first_found(text, path, language):
    """Return, for each import, the first of its paths that exists."""
    found = [
        next((path for path in each.paths if path in EXISTING), None)
        for each in parse_imports(text, path, language)
    ]
    return [path for path in found if path is not None]


def names_of(text, path, language):
    return [each.names for each in parse_imports(text, path, language)]


def test_imports_become_paths(subtests):
    for language, cases in CASES.items():
        for line, path, *expected in cases:
            with subtests.test(language=language, line=line):
                text = f"package org.acme;\n\n{line}\n" if language == "java" else line
                assert first_found(text, path, language) == expected


def test_python_imports_are_parsed_with_their_names(subtests):
    text = "from a import B, c as d\nimport e\nfrom .f import (g, # not h\n  i)\n"
    assert names_of(text, "x/y.py", "python") == [("B", "c"), (), (), (), ("g", "i"), (), ()]
    cases = [
        "# from a import b", "x = 'import a'", "from_ import a", "from ... import a", "import",
    ]  # fmt: skip
    for line in cases:
        with subtests.test(line=line):
            assert parse_imports(line, "a.py", "python") == []


def test_names_of_other_languages_and_packages(subtests):
    for line in ["import React from 'react'", "import x from '../../../out'", "from './a'"]:
        with subtests.test(line=line):
            assert parse_imports(line, "src/ui/a.js", "javascript") == []
    text = (
        "export const limit = 5\nimport React, { useState as state, type FC } from './react'\n"
        "const { readFile, writeFile: write } = require('./fs')\n"
    )
    assert names_of(text, "a.ts", "typescript") == [
        ("React", "useState", "state", "FC"),
        ("readFile", "writeFile", "write"),
    ]
    text = "import a.b.Cart;\nimport static a.b.Cart.empty;\nimport a.b.*;\n"
    assert names_of(text, "a/b/Main.java", "java") == [("Cart",), ("Cart", "empty")]
    assert names_of("use crate::a::{B, c::*};", "src/x.rs", "rust") == [("B",), ()]
    [imported] = parse_imports("use crate::Config;", "src/lib.rs", "rust")
    assert "src/lib.rs" not in imported.paths


GO = """package server

import (
	"fmt"
	store "github.com/acme/shop/internal/storage"
	"github.com/acme/shop/v2/api"
)

import "example.org/shop/log"

var s = store.Open(store.Options{}) // api.Serve
"""


def test_go_packages_are_folders_below_the_module():
    storage, api, log = parse_imports(GO, "cmd/server/main.go", "go")
    assert "internal/storage" in storage.folders and "cmd/server/internal/storage" in storage.folders
    assert storage.names == ("Open", "Options") and storage.paths == ()
    assert "api" in api.folders and api.names == ("Serve",)
    assert log.folders[:3] == ("cmd/server/shop/log", "cmd/shop/log", "shop/log")
    assert "log" in log.folders
    assert parse_imports('import "net/http"\nimport (\n\t"os"\n)\n', "main.go", "go") == []


def test_imports_of_unsupported_languages_are_ignored_and_their_number_limited():
    assert parse_imports('#include "a.h"', "a.c", "cpp") == []
    text = "".join(f"import m{n}\n" for n in range(500))
    assert len(parse_imports(text, "a.py", "python")) == MAX_IMPORTS


MARKS = "import |from |use |crate::|super::|mod |self|package |static |require(|export |a|b.c|../|./|..| as "
PIECES = st.sampled_from([*"\n\t .,;:{}()*'\"#/\\ü", "github.com/", *MARKS.split("|")])


@given(st.lists(PIECES, max_size=60).map("".join), st.sampled_from(IMPORT_LANGUAGES))
def test_no_text_fails_and_no_path_leaves_the_source(text, language):
    for each in parse_imports(text, "a/b/c.x", language):
        for place in (*each.paths, *each.folders):
            assert place and not place.startswith(("/", "..")) and "/../" not in place
