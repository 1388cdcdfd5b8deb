"""im2col and col2im by themselves, over the whole batch."""

from __future__ import annotations

from sprintprof.bench.case import Case, Work
from sprintprof.bench.engines.shapes import Window
from sprintprof.bench.kernels.build import empty, kernel_axes, kernel_work, operand, operation
from sprintprof.bench.kernels.spot import compare, hosted, places
from sprintprof.bench.registry import benchmark
from sprintprof.records import Value

_WINDOW = {"kernel_h": 3, "kernel_w": 3, "stride_h": 1, "stride_w": 1, "pad_h": 1, "pad_w": 1}
_IMAGES = {"batch": 8, "channels": 64, "height": 56, "width": 56}
_RESNET: dict[str, Value] = {**_IMAGES, **_WINDOW, "dilation": 1, "precision": "fp32"}

Shape = tuple[int, ...]


def _shapes(case: Case) -> tuple[Window, Shape, Shape]:
    """Window, shape of the images, shape of the columns (N, C·R·S, OH·OW)."""
    window, image = Window.of(case.parameters), (case.int("height"), case.int("width"))
    output, kernel = window.output(image), window.kernel
    depth = case.int("channels") * kernel[0] * kernel[1]
    x_shape = (case.int("batch"), case.int("channels"), *image)
    return window, x_shape, (x_shape[0], depth, output[0] * output[1])


@benchmark(
    "im2col",
    group="kernels",
    axes=kernel_axes("im2col", **_RESNET),
    summary="columns of every window of an image (NCHW)",
    window="padding and copying into an existing column array",
    formula="bytes = image read, columns written",
)
def im2col(case: Case) -> Work:
    """Columns of a batch of images."""
    run, (window, x_shape, col_shape) = operation(case, "im2col"), _shapes(case)
    x, col = operand(case, x_shape, 0), empty(case, col_shape)

    def verify() -> str:
        (hx,) = hosted(case, x)

        def element(n: int, row: int, place: int) -> list[float]:
            c, tap = divmod(row, window.kernel[0] * window.kernel[1])
            i, j = divmod(tap, window.kernel[1])
            oh, ow = divmod(place, window.output((x_shape[2], x_shape[3]))[1])
            h = oh * window.stride[0] + i * window.dilation - window.pad[0]
            w = ow * window.stride[1] + j * window.dilation - window.pad[1]
            return [float(hx[n, c, h, w])] if 0 <= h < x_shape[2] and 0 <= w < x_shape[3] else [0.0]

        return compare(case, col, places(col.shape, case.seed), element)

    return kernel_work("im2col", case, lambda: run(x, col, window), (x, col), verify)


@benchmark(
    "col2im",
    group="kernels",
    axes=kernel_axes("col2im", **_RESNET),
    summary="sum of columns back into an image (NCHW)",
    window="zeroing the existing image and adding every column",
    formula="FLOP = one addition per column element; bytes = columns read, image written",
)
def col2im(case: Case) -> Work:
    """A batch of images from their columns."""
    run, (window, x_shape, col_shape) = operation(case, "col2im"), _shapes(case)
    col, x = operand(case, col_shape, 0), empty(case, x_shape)

    def verify() -> str:
        (hc,) = hosted(case, col)
        oh, ow = window.output((x_shape[2], x_shape[3]))

        def terms(n: int, c: int, h: int, w: int) -> list[float]:
            found = [0.0]
            for i in range(window.kernel[0]):
                y, rest_h = divmod(h + window.pad[0] - i * window.dilation, window.stride[0])
                for j in range(window.kernel[1]):
                    z, rest_w = divmod(w + window.pad[1] - j * window.dilation, window.stride[1])
                    if not rest_h and not rest_w and 0 <= y < oh and 0 <= z < ow:
                        row = (c * window.kernel[0] + i) * window.kernel[1] + j
                        found.append(float(hc[n, row, y * ow + z]))
            return found

        return compare(case, x, places(x.shape, case.seed), terms)

    return kernel_work("col2im", case, lambda: run(col, x, window), (col, x), verify)
