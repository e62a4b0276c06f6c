"""ResNet-50 as published (He and others 2015, the stride in the 3x3 convolution as torchvision has it).

Its own here so that no further package is needed; 25,557,032 parameters say that it is the same network.
"""

from __future__ import annotations

from typing import Any

from rigright.machine.bench.torched import pytorch

STAGES = ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2))  # width, blocks, stride of the first
GROWTH = 4
CLASSES = 1000


def resnet50() -> Any:
    """The network, with random weights."""
    nn = pytorch("nn")

    layers: list[Any] = [
        nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False),
        nn.BatchNorm2d(64),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(3, stride=2, padding=1),
    ]
    wide = 64
    for width, blocks, stride in STAGES:
        for index in range(blocks):
            layers.append(_block(wide, width, stride=stride if index == 0 else 1))
            wide = width * GROWTH
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(wide, CLASSES))


def _block(wide: int, width: int, *, stride: int) -> Any:
    """A bottleneck: narrow, look around, widen, and add what came in."""
    torch = pytorch()
    nn = pytorch("nn")

    class Bottleneck(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            out = width * GROWTH
            self.inner = nn.Sequential(
                *(nn.Conv2d(wide, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True)),
                nn.Conv2d(width, width, 3, stride=stride, padding=1, bias=False),
                *(nn.BatchNorm2d(width), nn.ReLU(inplace=True)),
                *(nn.Conv2d(width, out, 1, bias=False), nn.BatchNorm2d(out)),
            )
            same = stride == 1 and wide == out
            self.across: Any = (
                nn.Identity()
                if same
                else nn.Sequential(nn.Conv2d(wide, out, 1, stride=stride, bias=False), nn.BatchNorm2d(out))
            )

        def forward(self, image: Any) -> Any:
            return torch.relu(self.inner(image) + self.across(image))

    return Bottleneck()
