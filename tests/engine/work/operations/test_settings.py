"""The parameters of an operation are typed data; files have them as text."""

import json

import numpy as np
import pytest

import engine
from engine.errors import BadValue
from engine.tasks.read_results import result_from_json
from engine.work.operations.contract import OPERATIONS
from engine.work.problem import Parameters


def written(key, **settings):
    """Return the result of an operation, and as a file has it."""
    picture = np.arange(12 * 15 * 3, dtype=np.uint8).reshape(12, 15, 3)
    result = engine.operate(picture, key, device="cpu", budget_s=0.0, **settings).result
    return result, json.loads(json.dumps(result.as_json()))


@pytest.mark.slow
@pytest.mark.parametrize("key", OPERATIONS)
def test_that_settings_are_read_back_with_the_types_of_the_parameters(key):
    settings = {"width": 5, "height": 4} if key == "find-patch" else {}
    result, data = written(key, **settings)
    assert isinstance(data["problem"]["settings"], str)
    back = result_from_json(data).problem
    assert back == result.problem
    assert list(map(type, back.parameters.values())) == list(map(type, result.problem.parameters.values()))
    assert tuple(back.parameters) == tuple(one.name for one in OPERATIONS[key].parameters)


def test_that_a_number_that_looks_whole_stays_a_float():
    result, data = written("hue-shift", degrees=30)
    assert result.problem.settings == Parameters([("degrees", 30.0)])
    assert data["problem"]["settings"] == result.problem.csv_columns()["settings"] == "degrees=30.0"
    data["problem"]["settings"] = "degrees=30"
    assert isinstance(result_from_json(data).problem.parameters["degrees"], float)


def test_that_settings_that_the_operation_does_not_take_or_that_are_missing_are_refused():
    _, data = written("median")
    for changed, words in [
        ({"settings": "radius=5"}, "radius of median: the operation has no such parameter"),
        ({"settings": "size=3,5"}, "5 of median: the operation has no such parameter"),
        ({"settings": "size=many"}, "it is not one of"),
        ({"operation": "medians"}, "'medians' is not an operation"),
        ({"settings": 5}, "settings is not of type str"),
    ]:
        with pytest.raises(BadValue, match=words):
            result_from_json(data | {"problem": data["problem"] | changed})
    del data["problem"]["settings"]
    with pytest.raises(BadValue, match="'settings' is missing"):
        result_from_json(data)
