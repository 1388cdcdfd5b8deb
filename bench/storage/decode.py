"""From a stored sample to what a network takes: uint8 pixels to normalised single precision, channels first."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

CHANNELS = 3
MEAN = np.array([0.485, 0.456, 0.406])
STD = np.array([0.229, 0.224, 0.225])
"""Mean and standard deviation of ImageNet's channels, of values in 0..1: what image pipelines commonly use."""

_SCALE = (1 / (255 * STD)).astype(np.float32)[:, None]
_OFFSET = (-MEAN / STD).astype(np.float32)[:, None]


def decode(stored: Array, out: Array) -> None:
    """out (3, pixels) float32 = (stored/255 − mean)/std of stored (pixels·3,) uint8, channels last in each pixel."""
    np.multiply(stored.reshape(-1, CHANNELS).T, _SCALE, out=out)
    np.add(out, _OFFSET, out=out)
