"""Query parameters are learned from the pages of a site."""

from ingest.connectors.web.addresses import QueryParameters, parse_address


def at(key):
    return parse_address(f"http://example.org{key}", parameters=None)


def learning(*telling):
    return QueryParameters(telling, is_learning=True)


def shortened(parameters, *keys):
    return [parameters.shorten(at(key)).key for key in keys]


def test_value_that_changes_nothing_three_times_is_dropped():
    parameters = learning()
    for _ in range(3):
        assert shortened(parameters, "/a?page=1") == ["/a?page=1"]
        parameters.record("page", "1", is_same=True)
    assert shortened(parameters, "/a?page=1&b", "/a?page=2") == ["/a?b", "/a?page=2"]


def test_parameter_with_three_values_that_change_nothing_is_dropped():
    parameters = learning()
    for value in "abc":
        parameters.record("sid", value, is_same=True)
    assert shortened(parameters, "/a?sid=d&id=1") == ["/a?id=1"]
    parameters.record("sid", "e", is_same=False)
    assert shortened(parameters, "/a?sid=d") == ["/a?sid=d"]


def test_parameters_of_indexed_pages_are_not_tried_again():
    assert learning("id").untold(at("/a?id=1&b=2")) == [("b", "2")]
    assert QueryParameters((), is_learning=False).untold(at("/a?id=1")) == []


def test_files_need_two_queries():
    parameters = learning()
    admitted = [
        [address.key for address in parameters.admit(at(key))]
        for key in (
            "/a.html?v=1",
            "/a.html?v=1",
            "/b.pdf?v=1",
            "/a.html?v=2",
            "/a.html?v=3",
            "/a.php?v=1",
            "/a.html",
        )
    ]
    assert admitted == [
        *(["/a.html"], ["/a.html"], ["/b.pdf"]),
        *(["/a.html?v=1", "/a.html?v=2"], ["/a.html?v=3"], ["/a.php?v=1"], ["/a.html"]),
    ]
