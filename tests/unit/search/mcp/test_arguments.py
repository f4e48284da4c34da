import pytest

from kebab.errors import InvalidRequest
from search.mcp.tools.arguments import CodebaseArguments, read_arguments


def test_list_of_wrong_texts_gives_one_error():
    with pytest.raises(InvalidRequest) as refused:
        read_arguments(CodebaseArguments, {"information_request": "a", "exclude": [None] * 100})
    assert [error.field for error in refused.value.errors] == ["exclude[0]"]
