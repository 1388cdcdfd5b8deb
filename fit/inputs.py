"""Which features mean something for which kernel: those of the linear base and those of the correction."""

from __future__ import annotations

PLAIN = ["1", "flop", "bytes"]
BASE_TILES = ("128x128", "128x64", "64x64", "128x32", "64x32", "256x64")
CORRECTION_TILES = ("128x128", "128x64", "64x32")
MATRIX_KERNELS = (
    "gemm", "batched_gemm", "linear_forward", "linear_backward_data", "linear_backward_filter",
)  # fmt: skip
CONVOLUTIONS = ("conv_forward", "conv_backward_data", "conv_backward_filter")


def waves(tile: str, processors: int | None) -> str:
    """The work of a matrix product in whole waves over the device's processors, in whole tiles where unknown."""
    return f"waves({tile}/{processors})" if processors else f"tiles({tile})"


def rich_features(kernel: str, processors: int | None) -> list[str] | None:
    """Features of a fuller linear base; None for kernels that are not matrix products."""
    if kernel not in (*MATRIX_KERNELS, *CONVOLUTIONS):
        return None
    out = [*PLAIN, "macs", *(waves(tile, processors) for tile in BASE_TILES), *(f"tiles({t})" for t in BASE_TILES[:3])]
    if kernel in CONVOLUTIONS:
        out += ["inputs", "outputs", "weights", "im2col"]
        out += ["winograd2", "winograd4", "winograd2_tiles", "winograd4_tiles"]
    return out


def tiled_forms(processors: int | None) -> list[list[str]]:
    """Short bases for few points: work in whole tiles, or in whole waves of them, with and without the traffic."""
    works = dict.fromkeys([f"tiles({BASE_TILES[0]})", waves(BASE_TILES[0], processors)])
    return [form for work in works for form in ([work], ["1", work], ["1", work, "bytes"])]


def correction_inputs(kernel: str, axes: list[str], processors: int | None) -> list[str]:
    """Inputs of the correction (their logarithms): numeric parameters, shape, intensity, rounding losses, alignment.

    Few are better than many: random splits waste themselves on inputs that say the same twice.
    """
    if kernel in CONVOLUTIONS:
        losses = [*(f"{waves(tile, processors)} / macs" for tile in CORRECTION_TILES), "winograd4 / macs"]
        return [*axes, "align(channels)", "gemm_m", "weights", "flop / bytes", *losses]
    if kernel in MATRIX_KERNELS:
        loss = f"{waves(CORRECTION_TILES[1], processors)} / macs"
        return ["gemm_m", "gemm_n", "gemm_k", "flop", "bytes", "flop / bytes", loss]
    return [*axes, "flop", "bytes"]
