"""3×3 convolutions with a quarter of the multiplications, for float32 on a CPU [after Lavin & Gray 2016].

A convolution is a product of polynomials, and a product is known by its values at enough points. Each tile of 4×4
outputs reads 6×6 inputs: these and the filter are evaluated at 6×6 points (0, ±1, ±2, ∞ in each direction), multiplied
there, summed over channels by a matrix product, and interpolated. 36 multiplications do the work of 144.

The result differs from torch's own by some 1e-6 of its size, which is rounding: bfloat16 differs by 4e-3, and there
the values at ±2 would cost digits that it does not have.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.functional import pad

_OUT, _IN, _FILTER = 4, 6, 3
_POINTS = _IN * _IN
_FEWEST_PRODUCTS = 64 * 256  # of channels in and out: below that the transforms cost what the multiplications save
_TILES_AT_A_TIME = 256  # so that what is computed of them is still in the cache when it is read

_TILE_AT_POINTS = (
    (4, 0, -5, 0, 1, 0),
    (0, -4, -4, 1, 1, 0),
    (0, 4, -4, -1, 1, 0),
    (0, -2, -1, 2, 1, 0),
    (0, 2, -1, -2, 1, 0),
    (0, 4, 0, -5, 0, 1),
)
_FILTER_AT_POINTS = (
    (1 / 4, 0, 0),
    (-1 / 6, -1 / 6, -1 / 6),
    (-1 / 6, 1 / 6, -1 / 6),
    (1 / 24, 1 / 12, 1 / 6),
    (1 / 24, -1 / 12, 1 / 6),
    (0, 0, 1),
)
_OUTPUT_FROM_POINTS = (
    (1, 1, 1, 1, 1, 0),
    (0, 1, -1, 2, -2, 0),
    (0, 1, 1, 4, 4, 0),
    (0, 1, -1, 8, -8, 1),
)


class Conv3x3(nn.Conv2d):
    """torch's 3×3 convolution, which keeps height and width, computed in the faster way where there is one."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(inputs, outputs, _FILTER, padding=1, bias=False)

    def is_faster_for(self, x: Tensor) -> bool:
        """Whether `forward` leaves torch's kernel. It does not depend on how many images there are."""
        return (
            self.in_channels * self.out_channels >= _FEWEST_PRODUCTS
            and x.device.type == "cpu"
            and x.dtype == self.weight.dtype == torch.float32
            and not torch.is_autocast_enabled("cpu")
            and x.shape[2] % _OUT == x.shape[3] % _OUT == 0
            and not torch.compiler.is_compiling()  # an exported network has no such layers
        )

    def forward(self, input: Tensor) -> Tensor:
        if not self.is_faster_for(input):
            return super().forward(input)
        output = convolve(input, self.weight)
        return output if self.bias is None else output.add_(self.bias.view(-1, 1, 1))


def convolve(images: Tensor, weight: Tensor) -> Tensor:
    """conv2d(images, weight, padding=1) of (B, C, H, W) and (K, C, 3, 3), channels last; differentiable once.

    H and W are multiples of four.
    """
    found: Tensor = _Convolution.apply(images, weight)
    return found


class _Convolution(torch.autograd.Function):
    """Each step is linear in each of its factors, and the backward pass goes through the transposed steps."""

    @staticmethod
    def forward(ctx: Any, images: Tensor, weight: Tensor) -> Tensor:
        grid = _Grid(*images.shape[2:])
        x = images.permute(0, 2, 3, 1)
        filters = _product(_both_ways(_FILTER_AT_POINTS, x), weight.permute(2, 3, 0, 1))  # (36, K, C)
        evaluate, interpolate = _both_ways(_TILE_AT_POINTS, x), _both_ways(_OUTPUT_FROM_POINTS, x)
        y, kept = x.new_empty(*x.shape[:3], len(weight)), []
        for some in grid.parts(len(x)):
            values = _product(evaluate, grid.tiles(x[some])).flatten(1, -2)  # (36, tiles, C)
            products = torch.bmm(values, filters.mT)
            grid.put(y[some], _product(interpolate, products))
            if ctx.needs_input_grad[1]:
                kept.append(values)
        ctx.grid = grid
        ctx.save_for_backward(filters, *kept)
        return y.permute(0, 3, 1, 2)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor | None, Tensor | None]:
        grid: _Grid = ctx.grid
        filters, *kept = ctx.saved_tensors
        slope = slope.permute(0, 2, 3, 1).contiguous()
        evaluate, interpolate = _both_ways(_TILE_AT_POINTS, slope), _both_ways(_OUTPUT_FROM_POINTS, slope)
        of_images = slope.new_empty(*slope.shape[:3], filters.shape[2]) if ctx.needs_input_grad[0] else None
        of_filters = torch.zeros_like(filters) if ctx.needs_input_grad[1] else None
        for number, some in enumerate(grid.parts(len(slope))):
            of_products = _product(interpolate.T, grid.take(slope[some])).flatten(1, -2)
            if of_filters is not None:
                of_filters.baddbmm_(of_products.mT, kept[number])
            if of_images is not None:
                of_tiles = _product(evaluate.T, torch.bmm(of_products, filters))
                of_images[some] = grid.overlapped(of_tiles, len(of_images[some]))
        of_weight = None
        if of_filters is not None:
            of_weight = _product(_both_ways(_FILTER_AT_POINTS, slope).T, of_filters)
            of_weight = of_weight.view(_FILTER, _FILTER, *filters.shape[1:]).permute(2, 3, 0, 1)
        return None if of_images is None else of_images.permute(0, 3, 1, 2), of_weight


class _Grid:
    """How images of this height and width, multiples of four, fall into tiles of 4×4."""

    def __init__(self, height: int, width: int) -> None:
        self.rows, self.columns = height // _OUT, width // _OUT

    def parts(self, images: int) -> Iterator[slice]:
        step = max(1, _TILES_AT_A_TIME // (self.rows * self.columns))
        return (slice(start, start + step) for start in range(0, images, step))

    def tiles(self, x: Tensor) -> Tensor:
        """(B, H, W, C) as (6, 6, B, rows, columns, C): what each tile reads, a margin of one included."""
        rows, columns, channels = self.rows, self.columns, x.shape[3]
        x = pad(x, (0, 0, 1, 1, 1, 1))
        image, line, pixel, one = x.stride()
        shape = (_IN, _IN, len(x), rows, columns, channels)
        return x.as_strided(shape, (line, pixel, image, _OUT * line, _OUT * pixel, one))

    def overlapped(self, tiles: Tensor, images: int) -> Tensor:
        """The transpose of `tiles`: a pixel gets the sum over the tiles that read it."""
        rows, columns = self.rows, self.columns
        tiles = tiles.view(_IN, _IN, images, rows, columns, -1).permute(2, 3, 0, 4, 1, 5)
        x = tiles.new_zeros(images, rows + 1, _OUT, columns + 1, _OUT, tiles.shape[-1])
        over = _IN - _OUT
        x[:, :-1, :, :-1] = tiles[:, :, :_OUT, :, :_OUT]
        x[:, :-1, :, 1:, :over] += tiles[:, :, :_OUT, :, _OUT:]
        x[:, 1:, :over, :-1] += tiles[:, :, _OUT:, :, :_OUT]
        x[:, 1:, :over, 1:, :over] += tiles[:, :, _OUT:, :, _OUT:]
        x = x.view(images, _OUT * (rows + 1), _OUT * (columns + 1), -1)
        return x[:, 1 : _OUT * rows + 1, 1 : _OUT * columns + 1]

    def put(self, y: Tensor, outputs: Tensor) -> None:
        """(16, tiles, K) into (B, H, W, K)."""
        places = outputs.view(_OUT, _OUT, len(y), self.rows, self.columns, -1)
        self._apart(y).copy_(places.permute(2, 3, 0, 4, 1, 5))

    def take(self, y: Tensor) -> Tensor:
        """The transpose of `put`."""
        return self._apart(y).permute(2, 4, 0, 1, 3, 5)

    def _apart(self, y: Tensor) -> Tensor:
        return y.view(len(y), self.rows, _OUT, self.columns, _OUT, -1)


def _both_ways(matrix: tuple[tuple[float, ...], ...], like: Tensor) -> Tensor:
    """The matrix applied to rows and to columns, as one matrix."""
    one_way = torch.tensor(matrix, dtype=like.dtype, device=like.device)
    return torch.kron(one_way, one_way)


def _product(matrix: Tensor, of: Tensor) -> Tensor:
    """`matrix` times `of`, whose first dimensions are its rows; the last two stay apart."""
    rows = of.reshape(matrix.shape[1], -1)
    return (matrix @ rows).view(len(matrix), -1, of.shape[-1])
