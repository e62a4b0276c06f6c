"""A PyTorch that only keeps time: the clocks of a thread run ahead by what its card would have taken.

They count what the process works, not what it waits: a card is as fast on a busy machine.

`FAKE_TORCH_CARDS` says how many cards there are and how fast each is: "1,1,0.35"; "1@0.5" tires by half.
`FAKE_TORCH_FAILS` names a function that fails as a card does that fell off the bus.
`FAKE_TORCH_WRONG` names a card whose products differ now and then; `FAKE_TORCH_ODD` one whose differ always.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import nullcontext
from threading import local
from types import SimpleNamespace

__version__ = "9.9.9+fake"
CARDS = [word.partition("@") for word in os.environ.get("FAKE_TORCH_CARDS", "").split(",") if word]
SPEEDS = [float(speed) for speed, _, _ in CARDS]
TIRED = [float(tired or 1.0) for _, _, tired in CARDS]
TICK_S = 0.0003
played = local()  # cards that work at once do so in threads


def ahead(clock):
    """A clock that counts what was played, too."""
    began_s = clock() - time.process_time()
    return lambda: began_s + time.process_time() + getattr(played, "s", 0.0)


time.monotonic, time.perf_counter = ahead(time.monotonic), ahead(time.perf_counter)
TIRED_AFTER_S, BEGAN = 2.5, time.monotonic()
uint8, int8, int16, int64 = ["u8", "i8", "i16", "i64"]
float16, bfloat16, float32, float8_e4m3fn = ["f16", "b16", "f32", "f8"]
version = SimpleNamespace(hip=None)
backends = SimpleNamespace(
    cuda=SimpleNamespace(matmul=SimpleNamespace(allow_tf32=False)),
    mps=SimpleNamespace(is_available=lambda: False),
)


class Tensor:
    """A place and nothing in it."""

    def __init__(self, device="cpu"):
        self.device = device
        self.card = int(str(device).partition(":")[2] or 0)

    def _work(self, *_args, **_kwargs):
        work(self.card)
        return self

    add_ = fill_ = copy_ = _work

    def _same(self, *_args, **_kwargs):
        return self

    bitwise_xor_ = random_ = t = view = flatten = __add__ = __radd__ = __mul__ = __mod__ = _same

    def to(self, device, _kind=None):
        return self if "i" in device else Tensor(device)

    def numel(self):
        return 1

    def __ne__(self, _other):
        return Values(3 if str(self.card) == os.environ.get("FAKE_TORCH_WRONG") else 0)

    __hash__ = None

    def __iadd__(self, values):
        return values

    def sum(self):
        return Values(8 if str(self.card) == os.environ.get("FAKE_TORCH_ODD") else 7)


class Values(int):
    """So many of them, as a tensor of one value is read."""

    def sum(self):
        return self

    def item(self):
        return int(self)

    def __iadd__(self, others):
        return Values(int(self) + others)


class Generator:
    def manual_seed(self, _seed):
        return self


def work(card):
    """Take as long as the card does."""
    if os.environ.get("FAKE_TORCH_FAILS") == sys._getframe(1).f_code.co_name:
        raise RuntimeError("CUDA error: unspecified launch failure")
    tired = TIRED[card] if time.monotonic() - BEGAN > TIRED_AFTER_S else 1.0
    played.s = getattr(played, "s", 0.0) + TICK_S / SPEEDS[card] / tired


def made(*_sizes, device="cpu", **_):
    return Tensor(device)


def empty_like(like):
    return Tensor(f"cuda:{like.card}")


empty = rand = randn = randint = zeros = tensor = arange = made


def mm(left, _right, out=None):
    work(left.card)
    return out or Tensor(f"cuda:{left.card}")


def _int_mm(left, _right):
    work(left.card)


def _scaled_mm(*_args, **_kwargs):
    raise RuntimeError("fp8 is not built in")


def add(left, _right, out=None, **_alpha):
    work(left.card)
    return out


def sum(thing):  # noqa: A001 - PyTorch's name
    work(thing.card)


class Graph:
    def replay(self):
        work(0)


cuda = SimpleNamespace(
    is_available=lambda: bool(SPEEDS),
    device_count=lambda: len(SPEEDS),
    get_device_name=lambda _index: "NVIDIA H100 80GB HBM3",
    get_device_capability=lambda _index: (9, 0),
    get_device_properties=lambda _index: SimpleNamespace(pci_domain_id=0, pci_bus_id=0x19, pci_device_id=0),
    mem_get_info=lambda _index: (80e9, 85e9),
    synchronize=lambda _index: None,
    empty_cache=lambda: None,
    can_device_access_peer=lambda a, b: a != b,
    Stream=lambda _index: SimpleNamespace(synchronize=lambda: None),
    stream=lambda _stream: nullcontext(),
    device=lambda _index: nullcontext(),
    graph=lambda _graph: nullcontext(),
    CUDAGraph=Graph,
)
