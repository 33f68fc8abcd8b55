import pytest

from engine.errors import HostLost
from engine.geometry.layout import Layout
from engine.host.protocol import FilterJob
from engine.mask.mask import Mask
from gui.explore.failed_run import failed_run
from tests.gui.made_results import VARIANTS, make_picture

ERROR = HostLost("The engine's process ended", "it was killed", "Run again.")


@pytest.mark.parametrize(("key", "layout"), [("cpu-serial", ""), ("naive", "packed"), ("auto", "")])
def test_that_a_failed_run_keeps_who_it_was_why_it_failed_and_its_layout(key: str, layout: str) -> None:
    job = FilterJob(picture=make_picture(), mask=Mask([[1]]), variant=key, layout=Layout.PACKED)
    variant = next((variant for variant in VARIANTS if variant.key == key), None)
    result = failed_run(job, variant, ERROR)
    assert (result.variant, result.title) == (key, variant.title if variant else key)
    assert (result.failure, result.layout) == (str(ERROR), layout)
    assert result.kernel_ms is None


@pytest.mark.parametrize(("result_type", "dtype"), [("float32", "float32"), ("same", "uint8")])
def test_that_a_failed_run_keeps_what_it_was_to_write(result_type: str, dtype: str) -> None:
    job = FilterJob(picture=make_picture(), mask=Mask([[1]]), variant="naive", result_type=result_type)
    assert failed_run(job, None, ERROR).problem.result_dtype == dtype
