"""What a type checker knows of the package: each public name is imported where `_HOME` says."""

from typing import Any

from engine.api.applied import Applied as Applied
from engine.api.filtering import convolve as convolve
from engine.api.filtering import correlate as correlate
from engine.api.filtering import list_devices as list_devices
from engine.api.filtering import list_variants as list_variants
from engine.api.network import Recognition as Recognition
from engine.api.network import network as network
from engine.api.plan import Plan as Plan
from engine.api.plan import plan as plan
from engine.api.product import matmul as matmul
from engine.api.verified import AppliedBank as AppliedBank
from engine.api.verified import Chained as Chained
from engine.api.verified import Operated as Operated
from engine.api.verified import apply as apply
from engine.api.verified import apply_bank as apply_bank
from engine.api.verified import chain as chain
from engine.api.verified import operate as operate
from engine.errors import DeviceUnavailable as DeviceUnavailable
from engine.errors import EngineError as EngineError
from engine.errors import VerificationFailed as VerificationFailed
from engine.flow.dask_arrays import filter_dask as filter_dask
from engine.flow.filtering import Streamed as Streamed
from engine.flow.filtering import filter_stream as filter_stream
from engine.flow.filtering import pinned_array as pinned_array
from engine.geometry.block import Block as Block
from engine.geometry.block import UnsupportedVariant as UnsupportedVariant
from engine.geometry.border import Border as Border
from engine.image.open import open_image as open_image
from engine.image.picture import Picture as Picture
from engine.image.save import finished_picture as finished_picture
from engine.image.save import save_image as save_image
from engine.judging.judge import judge as judge
from engine.judging.judgement import Judgement as Judgement
from engine.mask.mask import Mask as Mask
from engine.mask.presets import preset as preset
from engine.mask.presets import preset_names as preset_names
from engine.mask.text import format_mask as format_mask
from engine.mask.text import parse_mask as parse_mask
from engine.work.columns import RunResult as RunResult

__version__: str

def load_ipython_extension(shell: Any) -> None: ...
