import json
import math

from engine.results.strict_json import json_text


def test_that_a_number_that_json_has_not_is_a_string_and_what_there_is_not_is_null() -> None:
    document = {"a": math.nan, "b": [math.inf, 1.5, (-math.inf, 2)], 3: {"c": True, "d": None}}
    found = json.loads(json_text(document))
    assert found == {"a": "NaN", "b": ["Infinity", 1.5, ["-Infinity", 2]], "3": {"c": True, "d": None}}
    assert [float(found["b"][0]), math.isnan(float(found["a"]))] == [math.inf, True]
