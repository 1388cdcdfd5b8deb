"""The operations of `sprintprof.bench.engines.operations` in NumPy, one file per family."""

from __future__ import annotations

from collections.abc import Callable

from sprintprof.bench.engines.numpy_ops import (
    activations,
    batchnorm,
    channels,
    columns,
    convolution,
    elementwise,
    gemm,
    pooling,
    rows,
    softmax,
    streams,
    updates,
)

OPERATIONS: dict[str, Callable[..., object]] = {
    function.__name__: function
    for function in (
        gemm.gemm,
        columns.im2col,
        columns.col2im,
        convolution.conv_plan,
        convolution.conv_forward,
        convolution.conv_backward_data,
        convolution.conv_backward_filter,
        gemm.linear_forward,
        gemm.linear_backward_data,
        gemm.linear_backward_filter,
        pooling.pool_plan,
        pooling.pool_forward,
        pooling.pool_backward,
        elementwise.relu_forward,
        elementwise.relu_backward,
        elementwise.bias_forward,
        elementwise.bias_backward,
        elementwise.add,
        elementwise.random_state,
        elementwise.dropout_forward,
        elementwise.dropout_backward,
        softmax.softmax_xent,
        batchnorm.batchnorm_forward,
        batchnorm.batchnorm_backward,
        rows.softmax_forward,
        rows.softmax_backward,
        rows.layernorm_forward,
        rows.layernorm_backward,
        activations.activation_forward,
        activations.activation_backward,
        channels.scale_forward,
        channels.scale_backward,
        channels.lrn_forward,
        channels.lrn_backward,
        updates.momentum_update,
        updates.lars_update,
        updates.gradient_add,
        updates.weight_copy,
        streams.memory_copy,
        streams.triad,
    )
}
"""Every operation by its name."""
