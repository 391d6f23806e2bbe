"""Model files: `eigenspan.save`, `eigenspan.load` and `describe`; and `to_onnx`, which exports linear maps."""

from .model_files import describe
from .model_files import load as load
from .model_files import save as save
from .onnx import to_onnx

__all__ = ["describe", "to_onnx"]
