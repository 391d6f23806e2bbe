"""Fitted estimators as files: `eigenspan.save` and `eigenspan.load`, `describe`, and `to_onnx` for linear maps."""

from .files import describe
from .files import load as load
from .files import save as save
from .onnx import to_onnx

__all__ = ["describe", "to_onnx"]
