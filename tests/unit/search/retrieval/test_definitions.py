from search.retrieval.code.definitions import (
    IndexedPassage,
    NameQuery,
    has_definition,
    rank_namesakes,
    rank_passages,
    split_member,
)


def order(name, *places, rank=lambda name, passages: rank_passages([NameQuery(name)], passages)):
    """Return the places, as `breadcrumb | text`, in ranking order; ids run against that order."""
    passages = [
        IndexedPassage(chunk_id=f"{len(places) - n:02}", breadcrumb=breadcrumb, text=text)
        for n, (breadcrumb, _, text) in enumerate(place.partition(" | ") for place in places)
    ]
    return [places[len(places) - int(chunk_id)] for chunk_id, _ in rank(name, passages)]


def test_documentation_comes_before_definitions_and_both_before_mentions():
    places = [
        "Guide > get_user", "Guide > set_user, get_user | x", "Guide > get_user (deprecated)",
        "Guide > The get_user function", "a/b.py | def get_user(name):", "a/b.py | get_user = other",
        "Guide > get_user > Example | x", "Guide > Functions | - get_user gives the user",
        "Guide > Functions | Call get_user first",
    ]  # fmt: skip
    assert order("get_user", *reversed(places)) == places


def test_heading_or_line_defines_a_name(subtests):
    for heading in ["get_user", "`get_user`", "get_user()", "get_user(name, *, age)", "`get_user()`"]:
        with subtests.test(heading=heading):
            place = f"Guide > {heading}"
            assert order("get_user", "Guide > set_user, get_user", place)[0] == place

    cases = [
        "class get_user(Base):", "    async def get_user(self):", "export default function get_user() {",
        "#define get_user(x) x", "pub fn get_user() -> User {", "static struct user *get_user(int id);",
        "get_user: str = 1", '  "get_user": true,', "- `get_user`: gives the user",
        "> **get_user**: gives the user", "int get_user(",
    ]  # fmt: skip
    for line in cases:
        with subtests.test(line=line):
            mention, place = "a.c | x = get_user(1)", f"a.c | first\n{line}\nlast"
            assert order("get_user", mention, place) == [place, mention]
    for line in ["return get_user(x)", "if get_user == 1:", "x.get_user()", "  await get_user();"]:
        with subtests.test(line=line):
            assert not has_definition(
                NameQuery("get_user"), [IndexedPassage(chunk_id="1", breadcrumb="a.py", text=line)]
            )


def test_name_is_found_to_the_letter(subtests):
    others = [
        ("rate_limit", "the rate_limits of"), ("rate_limit", "my_rate_limit"),
        ("rate-limit", "x-rate-limit-y"), (".env", "process.env"), ("C2065", "C20651"),
        ("--out", "--out-dir"),
    ]  # fmt: skip
    held = [
        ("--out", "use --out=x"), ("C++", "C++, Rust"), ("BSkyB", "これはBSkyBの"),
        ("部署", "阅读部署指南"), ("rate limit", "a rate\n  limit"),
        ("vector::push_back", "std::vector::push_back"),
    ]  # fmt: skip
    for name, text in (*held, *others):
        with subtests.test(name=name, text=text):
            assert order(name, f"Guide | {text}") == ([f"Guide | {text}"] if (name, text) in held else [])
    places = ["Guide | see RATE_LIMIT", "Guide > rate_limit | x"]
    assert order("RATE_LIMIT", *places, "Guide | the rate_limit is") == places
    places = ["Guide > loader()", "Guide > loader", "Guide | then loader(x) runs"]
    assert order("loader()", *reversed(places), "Guide > The loader of things") == places
    places = ["src/limits.py | def rate_limit():", "src/rate_limit.py | x"]
    assert order("rate_limit", *reversed(places)) == places


def test_member_is_defined_in_its_container(subtests):
    places = ["vector class > push_back", "Guide | std::vector::push_back adds"]
    assert order("std::vector::push_back", "deque class > push_back", *places) == places
    method = IndexedPassage(
        chunk_id="1", breadcrumb="ftplib.py", text="def makeport(self):", below=frozenset({"FTP.makeport"})
    )
    other = IndexedPassage(chunk_id="2", breadcrumb="other.py", text="def makeport(self):")
    assert [id_ for id_, _ in rank_passages([NameQuery("FTP.makeport")], [other, method])] == ["1"]
    place = "src/ftplib.py > class FTP > method makeport, abort | def makeport(self):"
    assert names_in("FTP.makeport", "src/other.py > function makeport | def makeport():", place) == [place]
    assert names_in("FTP.abort", "b.js > class FTP > method makeport, abort | abort() {") != []
    cases = [
        ("std::vector::push_back", ("vector", "push_back")), ("Array#map", ("Array", "map")),
        ("os.path.join", ("path", "join")), ("push_back", None), ("::x", None), ("3.5", None),
    ]  # fmt: skip
    for name, parts in cases:
        with subtests.test(name=name):
            assert split_member(name) == parts


def code(*places):
    """Return passages of source files, as `breadcrumb | text`, with the places as ids."""
    split = ((place, *place.split(" | ")) for place in places)
    return [
        IndexedPassage(chunk_id=id_, breadcrumb=crumb, text=text, is_code=True) for id_, crumb, text in split
    ]


def names_in(name, *places):
    return [chunk_id for chunk_id, _ in rank_passages([NameQuery(name)], code(*places))]


def test_code_is_named_by_its_file_and_units():
    places = [
        "a.js > class Pool > method run_all | run_all() {", "a.js > function other | run_all = 1",
        "b.js > function run_all > function step | x", "b.js > function third | this.run_all()",
    ]  # fmt: skip
    documented = IndexedPassage(chunk_id="documented", breadcrumb="Guide > run_all", text="x")
    assert names_in("run_all", *reversed(places)) == places
    assert rank_passages([NameQuery("run_all")], [*code(*places), documented])[0][0] == "documented"
    places = ["a.c > function run_all | int run_all(void)\n{", "a.c > function run_all | return 0;"]
    assert names_in("run_all", *reversed(places)) == places
    assert rank_namesakes("method", code("a.py > class A > method run | def run(): ...")) == []
    assert rank_namesakes("run", code("a.py > class A > method run | def run(): ...")) != []
    path = "src/limits.py > function rate_limit | def rate_limit():"
    assert names_in("src/limits.py", path, "b.py > function f | src/limits.py")[0] == path


def test_more_mentions_and_more_names_come_first():
    dense, thin = "Guide | a_b a_b", f"Guide | a_b a_b {'word ' * 100}"
    same = [IndexedPassage(chunk_id=id_, breadcrumb="Guide", text="a_b") for id_ in ("2", "1")]
    assert order("a_b", thin, dense) == [dense, thin]
    assert [id_ for id_, _ in rank_passages([NameQuery("a_b")], same)] == ["1", "2"]
    texts = {"1": "only a_b", "2": "both a_b and c_d", "3": "only c_d"}
    passages = [IndexedPassage(chunk_id=id_, breadcrumb="Guide", text=text) for id_, text in texts.items()]
    assert rank_passages([NameQuery("a_b"), NameQuery("c_d")], passages)[0][0] == "2"


def test_strengths_lie_in_the_unit_interval_and_fall():
    passages = [
        IndexedPassage(chunk_id=str(n), breadcrumb=breadcrumb, text="a_b " * n)
        for n, breadcrumb in enumerate(["a_b", "x > a_b, c", "A_B", "x"])
    ]
    strengths = [strength for _, strength in rank_passages([NameQuery("a_b")], passages)]
    assert strengths == sorted(strengths, reverse=True)
    assert all(0 < strength <= 1 for strength in strengths)


def test_common_word_is_a_name_only_where_written_as_one(subtests):
    places = ["CRT > abs, labs", "CRT > abs (x64)", "a.py | def abs(x):"]
    prose = ["Guide > The abs value", "Guide | abs is used", "Guide | abs = 1", "Guide > Abs"]
    assert order("abs", *reversed(places), *prose, rank=rank_namesakes) == places
    cases = [
        ("Call `abs` first.", True), ("int abs(int n);", True), ("One or more abs(s), abs(es).", False),
        ("`npm abs now`, labs(n)", False), ("Strong abs are good.", False),
    ]  # fmt: skip
    for text, is_name in cases:
        with subtests.test(text=text):
            places = ["CRT > abs", f"CRT > abs > Syntax | {text}"]
            assert order("abs", *places, rank=rank_namesakes) == (places[:1] if is_name else [])
    places = ["a.py | class Full(Exception):", "Guide > Full", "Guide | Full of it"]
    assert order("Full", *places, rank=rank_namesakes) == places[:1]
