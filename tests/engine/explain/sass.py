"""What tests of SASS need."""

import pytest

from engine.device.cuda_presence import missing

if not missing:
    from engine.device.disassembler import disassembler

HAS_NVDISASM = not missing and disassembler() is not None
NEEDS_NVDISASM = pytest.mark.skipif(not HAS_NVDISASM, reason="nvdisasm is not installed")
