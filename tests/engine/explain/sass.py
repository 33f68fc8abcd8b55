"""What tests of SASS need."""

import pytest

from engine.device.cuda_presence import SIMULATED, missing

if not (SIMULATED or missing):
    from engine.device.disassembler import disassembler

HAS_NVDISASM = not (SIMULATED or missing) and disassembler() is not None
NEEDS_NVDISASM = pytest.mark.skipif(not HAS_NVDISASM, reason="nvdisasm is not installed")
