"""What tests of SASS need."""

from engine.device.device_list import missing

if not missing:
    from engine.device.kernel_code import disassembler

HAS_NVDISASM = not missing and disassembler() is not None
