"""A machine with any number of GPUs, which filter as another device does and are as late as they may be."""

from contextlib import contextmanager
from dataclasses import dataclass

from engine.commands import batch_plan
from engine.device.device_list import cpu_info
from engine.device.devices import backend
from engine.device_info import ALL_GPUS, DeviceInfo
from engine.flow import pipeline, stream
from engine.work import resolve
from tests.engine.flow.fake_queues import FakeQueues


@dataclass(frozen=True, slots=True)
class FakeGpu(DeviceInfo):
    """A device that is used as a GPU, whatever its kind is."""

    @property
    def is_usable_gpu(self):
        return True


def install(monkeypatch, count, like, queues=FakeQueues):
    """Give the machine so many GPUs that filter as the device `like`; return their queues, as they are made.

    `queues` makes those of a GPU by its number.
    """
    gpus = [FakeGpu(f"cuda:{n}", like.kind, f"GPU {n}", limits=like.limits) for n in range(count)]
    by_key, made = {gpu.key: gpu for gpu in gpus} | {"cpu": cpu_info()}, []

    @contextmanager
    def queues_of(gpu, layout, number):
        found = queues(gpus.index(gpu))
        made.append(found)
        with machine.selected():
            yield found

    machine = backend(like.key)

    def devices_for(variant, key):
        return tuple(gpus) if key == ALL_GPUS else (by_key[key],)

    for module in (resolve, batch_plan):
        monkeypatch.setattr(module, "devices_for", devices_for)
    monkeypatch.setattr("engine.api.calls.device_named", by_key.get)
    monkeypatch.setattr(pipeline, "queues_of", queues_of)
    for module in (pipeline, stream):
        monkeypatch.setattr(module, "backend", lambda key: machine)
    return made
