"""What tests of SASS need."""

from engine.device.cuda_presence import missing

if not missing:
    from engine.device.disassembler import disassembler

HAS_NVDISASM = not missing and disassembler() is not None
