"""What people have typed, and what their scripts, sessions and result files name, stays: once released, a key
is kept, or refused with the key to use instead. Anything may be added.
"""

import pytest

from engine.commands import COMMANDS
from engine.errors import UnknownName
from engine.explain.examples import variant_named
from engine.geometry.border import Border
from engine.image.formats import FORMATS, saved_formats
from engine.results.metrics import metrics_of
from engine.tasks.network.task import NETWORK_VARIANTS
from engine.tasks.product.problem import MATMUL_VARIANTS
from engine.tasks.registry import TASKS
from engine.work.filtering.variants import VARIANTS, variant
from engine.work.operations.contract import OPERATION_VARIANTS, OPERATIONS
from gui.shell.pages import PAGES


def keys(table):
    return [entry.key for entry in table]


RELEASED = {
    "commands": (COMMANDS, "filter batch bench devices variants masks matmul network course"),
    "pages": (keys(PAGES), "explore course matrices network"),
    "tasks": (TASKS, "filtering product network operation"),
    "suffixes opened": (
        [suffix for known in FORMATS for suffix in known.suffixes],
        ".png .apng .jpg .jpeg .jpe .jfif .mpo .tif .tiff .bmp .dib .webp .gif",
    ),
    "suffixes saved": (
        [suffix for known in saved_formats() for suffix in known.saved_suffixes],
        ".png .jpg .jpeg .tif .tiff .webp",
    ),
    "borders": ([border.value for border in Border], "zero constant replicate reflect mirror wrap"),
    "operations": (OPERATIONS, "negative desaturate hue-shift histogram equalise median find-patch compress"),
    "parameters of operations": (
        [f"{key}.{one.name}" for key, operation in OPERATIONS.items() for one in operation.parameters],
        "desaturate.weights hue-shift.degrees histogram.bins equalise.bins median.size find-patch.left "
        "find-patch.top find-patch.width find-patch.height compress.quality",
    ),
    "variants of filters": (
        keys(VARIANTS),
        "cpu-serial cpu-separable-serial cpu-parallel cpu-separable cpu-box cpu-fft naive naive-uncoalesced "
        "constant tiled-input tiled cached cached-constant separable-l0 separable-l1 separable-l2 "
        "implicit-gemm register-blocked digit-sums separable-fused low-rank-2 low-rank-3 box "
        "fft row-naive row-constant row-tiled row-cached row-tiled-constant row-cached-constant",
    ),
    "variants of products": (keys(MATMUL_VARIANTS), "matmul-naive matmul-tiled numpy"),
    "variants of operations": (
        keys(OPERATION_VARIANTS),
        "cpu-negative cpu-desaturate cpu-hue-shift cpu-histogram cpu-equalise cpu-median cpu-match cpu-dct "
        "cuda-negative cuda-desaturate cuda-hue-shift histogram-global histogram-shared cuda-equalise "
        "median-naive median-local median-tiled match-naive match-tiled dct-direct dct-tiled",
    ),
    "variants of networks": (
        keys(NETWORK_VARIANTS),
        "network-serial network-cpu network-convolution network-pool network-fused network-connected "
        "network-linearised network-uncoalesced network-implicit-gemm network-unrolled network-constant "
        "network-streams network-fast",
    ),
    "metrics of filtering": (
        keys(metrics_of(TASKS["filtering"].problem)),
        "kernel_median_ms kernel_p20_ms kernel_p80_ms kernel_minimum_ms end_to_end_median_ms "
        "end_to_end_p20_ms end_to_end_p80_ms end_to_end_minimum_ms speed_up max_error error_bound compile_ms "
        "allocate_ms host_to_device_median_ms host_to_device_p20_ms host_to_device_p80_ms "
        "host_to_device_minimum_ms device_to_host_median_ms device_to_host_p20_ms device_to_host_p80_ms "
        "device_to_host_minimum_ms samples bandwidth_gb_s model_cgma_flop_per_load "
        "model_intensity_flop_per_byte model_flops model_flops_per_value model_global_loads "
        "model_global_loads_per_value model_picture_loads model_picture_loads_per_value model_global_stores "
        "model_global_stores_per_value model_shared_loads model_shared_loads_per_value model_shared_stores "
        "model_shared_stores_per_value model_constant_loads model_constant_loads_per_value "
        "model_global_load_bytes model_global_store_bytes model_minimum_bytes",
    ),
    "metrics of product": (
        keys(metrics_of(TASKS["product"].problem)),
        "kernel_median_ms gflops cgma_flop_per_load lecture_limit_gflops bandwidth_limit_gflops "
        "share_of_limit speed_up",
    ),
    "metrics of network": (
        keys(metrics_of(TASKS["network"].problem)),
        "kernel_median_ms drawings_per_s network_gflops speed_up",
    ),
}


def test_that_released_keys_are_kept_in_their_order():
    for today, released in RELEASED.values():
        assert [key for key in today if key in released.split()] == released.split()


@pytest.mark.parametrize("named", [variant, variant_named])
def test_that_a_variant_that_is_gone_is_refused_with_what_to_use(named):
    with pytest.raises(UnknownName) as caught:
        named("split-float16")
    assert caught.value.remedy == "Use register-blocked."
