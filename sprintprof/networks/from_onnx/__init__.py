"""ONNX files as networks."""

from sprintprof.networks.from_onnx.translate import import_onnx

__all__ = ["import_onnx"]
