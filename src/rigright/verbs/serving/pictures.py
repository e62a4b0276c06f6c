"""The same model for pictures of another size: its config is read again with that size."""

from __future__ import annotations

from rigright.arch.classifiers import classifier
from rigright.arch.read import read_config
from rigright.arch.record import Arch
from rigright.arch.sources import zoo
from rigright.base.errors import AskError
from rigright.base.words import say

LATENT_PIXELS = 8  # pixels of a side for one place of a diffusion model's latent
SMALLEST, LARGEST = 16, 8192


def resized(arch: Arch, side: int) -> Arch:
    """The model reading pictures of so many pixels a side."""
    if not SMALLEST <= side <= LARGEST:
        raise AskError(say("image size must be {least} to {most} pixels", least=SMALLEST, most=LARGEST))
    named = classifier(arch.name, image_px=side)
    if named is not None:
        return named
    if zoo.exact(arch.name) is None or arch.task not in {"vision", "image"}:
        raise AskError(say("{model}: --image-size works for known image models only", model=arch.name))
    config = zoo.config(arch.name)
    sizes = {"image_size": side, "sample_size": side // LATENT_PIXELS}
    if "sample_size" not in config:
        del sizes["sample_size"]
    return read_config({**config, **sizes}, arch.name)
