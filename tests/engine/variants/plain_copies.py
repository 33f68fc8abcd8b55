"""Copies from global to shared memory as a processor can do them: stands in for `cuda_async_copy.copy_ahead` in tests."""

from llvmlite import ir

from engine.variants.ir.cuda_ir import I64, constant, moved


def copied_at_once(
    builder: ir.IRBuilder,
    target: ir.Value,
    source: ir.Value,
    floats: int,
    only_if: ir.Value | None = None,
    target_at: int = 0,
    source_at: int = 0,
) -> None:
    """Do what `copy_ahead` does, with loads and stores; nothing where a device would refuse addresses that are not aligned."""
    addresses = (
        builder.add(builder.ptrtoint(pointer, I64), constant(4 * at, I64))
        for pointer, at in ((target, target_at), (source, source_at))
    )
    past = builder.and_(builder.or_(*addresses), constant(4 * floats - 1, I64))
    condition = builder.icmp_unsigned("==", past, constant(0, I64))
    if only_if is not None:
        condition = builder.and_(condition, only_if)
    with builder.if_then(condition):
        for place in range(floats):
            value = builder.load(moved(builder, source, source_at + place), align=1)
            builder.store(value, moved(builder, target, target_at + place), align=1)
