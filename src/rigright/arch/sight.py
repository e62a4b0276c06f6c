"""Images in a request: how many tokens of the prompt each becomes, and what the vision tower works on.

The rule of each family is a row of data/arch/image_tokens.csv; patch and tile are those of its tower.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from itertools import product
from math import ceil, inf, isqrt, prod, sqrt
from typing import Any

from rigright.arch.record import Arch, Pictured, Tower
from rigright.base.errors import AskError
from rigright.base.loader import records
from rigright.base.record import dataclass, kept, replace
from rigright.base.tables import DATA
from rigright.base.words import say

RGB, MATRIX = 3, 2
ROOMY = 1.1  # a grid this much larger than allowed is shrunk
Size = tuple[int, int]  # pixels: width, height
FILLED = 0.5  # of more tiles, that an image fills before it is cut into them


@dataclass(frozen=True, slots=True, kw_only=True)
class Lens:
    """What of a vision tower an image is cut by."""

    patch_px: int
    tile_px: int
    tile_tok: int  # that a sample becomes in the prompt
    positions: int  # of a sample
    merge: int = 1  # patches of a side that become one token


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """How the processor of a family cuts an image: `rule` names the method."""

    family: str = ""
    rule: str = "fixed"
    least_px: int = 0  # of the whole image
    most_px: int = 0
    most_side: int = 0
    most_tiles: int = 1
    grids: tuple[str, ...] = ()  # that tiles may lie in: "2x1"; none: all of as many tiles
    thumbnail: bool = False  # the whole image is one more tile, where there are several
    marks: int = 0  # tokens around an image
    tile_marks: int = 0  # after each tile
    row_marks: int = 0  # after each row

    def fixed(self, lens: Lens, _size: Size) -> Pictured:
        """One sample of the tower, whatever its size."""
        return Pictured(tok=lens.tile_tok + self.marks, positions=lens.positions)

    def crossed(self, lens: Lens, _size: Size) -> Pictured:
        """Cross-attention looks at it: a mark stands in the prompt."""
        return Pictured(tok=self.marks, positions=lens.positions)

    def pixels(self, lens: Lens, size: Size) -> Pictured:
        """Rounded to whole groups of patches, between bounds of area."""
        width, height = size
        unit = lens.patch_px * lens.merge
        wide, high = (max(round(side / unit), 1) for side in size)
        area = wide * high * unit * unit
        if area > self.most_px:
            over = sqrt(width * height / self.most_px) * unit
            wide, high = (max(int(side / over), 1) for side in size)
        elif area < self.least_px:
            under = sqrt(self.least_px / (width * height)) / unit
            wide, high = (ceil(side * under) for side in size)
        return Pictured(tok=wide * high + self.marks, positions=wide * high * lens.merge**2)

    def side(self, lens: Lens, size: Size) -> Pictured:
        """Shrunk to a longest side, then whole groups of patches."""
        width, height = size
        over, unit = max(size) / self.most_side, lens.patch_px * lens.merge
        if over > 1:
            width, height = max(int(width / over), 1), max(int(height / over), 1)
        wide, high = ceil(width / unit), ceil(height / unit)
        tok = wide * high + self.row_marks * high + self.marks
        return Pictured(tok=tok, positions=wide * high * lens.merge**2)

    def tiles(self, lens: Lens, size: Size) -> Pictured:
        """The grid nearest to the shape; of equals a larger one where the image fills half of it."""
        width, height = size
        best, nearest = (1, 1), inf
        for grid in self.allowed:
            off = abs(width / height - grid[0] / grid[1])
            if off < nearest or (off == nearest and width * height > FILLED * prod(grid) * lens.tile_px**2):
                best, nearest = grid, off
        return self.tiled(lens, prod(best))

    def canvas(self, lens: Lens, size: Size) -> Pictured:
        """The grid that enlarges it least, else shrinks it least; of equals the smallest."""
        width, height = size
        scales = [lens.tile_px * min(grid[0] / width, grid[1] / height) for grid in self.allowed]
        pairs = zip(scales, self.allowed, strict=True)
        ranks = ((scale < 1, scale if scale >= 1 else -scale, prod(grid)) for scale, grid in pairs)
        return self.tiled(lens, min(ranks)[2])

    def tiled(self, lens: Lens, tiles: int) -> Pictured:
        """So many tiles, and the whole image beside several."""
        samples = tiles + (self.thumbnail and tiles > 1)
        tok = samples * lens.tile_tok + self.marks + self.tile_marks * tiles * (tiles > 1)
        return Pictured(tok=tok, samples=samples, positions=lens.positions)

    def anyres(self, lens: Lens, size: Size) -> Pictured:
        """Tiles without their padding, each row of patches with a mark, and the whole image once more."""
        width, height = size
        used = {}
        for grid in self.allowed:
            scale = lens.tile_px * min(grid[0] / width, grid[1] / height)
            shown = min(int(width * scale) * int(height * scale), width * height)
            used[grid] = (-shown, prod(grid) * lens.tile_px**2 - shown)
        grid, side = min(used, key=lambda grid: used[grid]), lens.tile_px // lens.patch_px
        wide, high = grid[0] * side, grid[1] * side
        if width / height > wide / high:
            high -= (high - round(height * wide / width)) // 2 * 2
        else:
            wide -= (wide - round(width * high / height)) // 2 * 2
        over = sqrt(wide * high / (self.most_tiles * side * side))
        if over > ROOMY:
            wide, high = int(wide // over), int(high // over)
        tok = lens.tile_tok + wide * high + self.row_marks * high + self.marks
        return Pictured(tok=tok, samples=prod(grid) + 1, positions=lens.positions)

    def crops(self, lens: Lens, size: Size) -> Pictured:
        """As many tiles along the longer side as the shorter one leaves, and the whole image once more."""
        width, height = size
        ratio, along = max(size) / min(size), 1
        while (along + 1) * ceil((along + 1) / ratio) <= self.most_tiles:
            along += 1
        across = ceil(int(along * lens.tile_px / ratio) / lens.tile_px)
        rows, tiles = (across if width >= height else along) + 1, along * across + 1
        tok = tiles * lens.tile_tok + rows * self.row_marks + self.marks
        return Pictured(tok=tok, samples=tiles, positions=lens.positions)

    @property
    def allowed(self) -> list[tuple[int, int]]:
        """Grids of tiles, wide and high, the smallest first."""
        sides = range(1, self.most_tiles + 1)
        named = [(int(wide), int(high)) for wide, _, high in (grid.partition("x") for grid in self.grids)]
        return named or sorted((item for item in product(sides, sides) if prod(item) <= sides[-1]), key=prod)


@cache
def sights() -> Mapping[str, Sight]:
    """By family."""
    return {row.family: row for row in records(DATA / "arch" / "image_tokens.csv", Sight)}


def eye_of(arch: Arch) -> Tower | None:
    """The tower that sees, of a model that writes."""
    towers = (tower for tower in arch.towers if tower is not arch.trunk)
    return next((tower for tower in towers if tower.name == "vision" and tower.sample_tok), None)


def lens_of(eye: Tower) -> Lens:
    """Patch, tile and merging, as the weights say."""
    positions = eye.sample_tok or 1
    shapes = ((weight.shape, weight.sites) for weight in eye.outer if weight.role == "patch")
    shape, sites = next(shapes, ((0, RGB * 14 * 14), positions))
    patch_px = shape[-1] if len(shape) > MATRIX else isqrt(prod(shape[1:]) // RGB)
    made = (weight.sites for weight in eye.outer if weight.role.startswith("project") and weight.sites > 1)
    tok = min(made, default=positions)
    merge = max(round(sqrt(sites / tok)), 1)
    return Lens(
        patch_px=patch_px, tile_px=isqrt(sites) * patch_px, tile_tok=tok, positions=positions, merge=merge
    )


@kept
def seeing(arch: Arch, *, count: float, width: int, height: int) -> Arch:
    """The model asked with so many images of such a size in each request."""
    eye = eye_of(arch)
    if eye is None:
        raise AskError(
            say("{model} takes no images", model=arch.name),
            hint=say("vision models: {models}", models="Qwen3-VL-8B-Instruct, gemma-3-27b-it, InternVL3-8B"),
        )
    sight = sights().get(arch.family)
    rule: Any = getattr(sight or Sight(), sight.rule if sight else "fixed")
    each = rule(lens_of(eye), (width, height))
    return replace(arch, pictured=replace(each, count=count, is_known=sight is not None))
