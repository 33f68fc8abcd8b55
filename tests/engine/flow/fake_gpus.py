"""A machine with any number of GPUs, which filter as another device does and are as late as they may be."""

from contextlib import contextmanager
from dataclasses import dataclass

from engine.device.devices import backend
from engine.device_info import DeviceInfo
from engine.flow import filtering, on_gpus, stream
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
    by_key, made = {gpu.key: gpu for gpu in gpus}, []

    @contextmanager
    def queues_of(gpu, layout, number):
        found = queues(gpus.index(gpu))
        made.append(found)
        with machine.selected():
            yield found

    machine = backend(like.key)
    monkeypatch.setattr(filtering, "all_gpus", lambda: tuple(gpus))
    monkeypatch.setattr(resolve, "device_named", by_key.get)
    monkeypatch.setattr(resolve, "device_for", lambda variant, key: by_key[key])
    monkeypatch.setattr("engine.api.calls.device_named", by_key.get)
    monkeypatch.setattr(on_gpus, "queues_of", queues_of)
    for module in (on_gpus, stream):
        monkeypatch.setattr(module, "backend", lambda key: machine)
    return made
