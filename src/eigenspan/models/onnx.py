"""Export of linear maps as ONNX models of two or three nodes."""

from __future__ import annotations

from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import RobustScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

from ..errors import InputError, ModelError
from ..problem.map import Map, Raw
from .archive import replacing

#: Operator set and format version of ONNX 1.2, which every later runtime supports.
_OPSET, _IR = 9, 6


def to_onnx(
    estimator: Any,
    path: str | PathLike[str] | None = None,
    *,
    dtype: Literal["float32", "float64"] = "float64",
    input_name: str = "X",
    output_name: str = "embedding",
) -> Any:
    """Export a fitted linear method, optionally after scikit-learn's scalers, as an ONNX model ``embedding = (X − mean) V``.

    Needs the package onnx: ``pip install "eigenspan[onnx]"``. The model has two nodes, ``Sub`` and ``MatMul`` (and ``Add`` if the method
    shifts its embedding), and accepts any number of rows.

    Parameters
    ----------
    estimator : fitted estimator with a linear map
        PCA, LDA, LPP and the other linear methods, without ``kernel=``, also at the end of a pipeline after ``StandardScaler`` or
        ``RobustScaler``, whose scaling is combined with mean and V.
    path : path-like, optional
        File to write.
    dtype : {"float32", "float64"}, default="float64"
        Type of the input, the arithmetic and the output. Single precision keeps about six digits of the input; if the data are far from
        zero, few of them remain after subtracting the mean.
    input_name, output_name : str

    Returns
    -------
    onnx.ModelProto

    Raises
    ------
    ModelError
        The map is not linear, or onnx is not installed.

    Examples
    --------
    >>> import eigenspan
    >>> from sklearn.datasets import load_iris
    >>> X, _ = load_iris(return_X_y=True)
    >>> model = eigenspan.models.to_onnx(eigenspan.PCA(2).fit(X), "iris.onnx")  # doctest: +SKIP
    """
    if dtype not in ("float32", "float64"):
        raise InputError(f"dtype={dtype!r} cannot be used: it must be 'float32' or 'float64'.")
    *scalers, last = [step for _, step in estimator.steps] if isinstance(estimator, Pipeline) else [estimator]
    map_ = _linear(last)
    for scaler in reversed(scalers):
        map_ = _after(scaler, map_)
    model = _model(map_, np.dtype(dtype), input_name, output_name)
    if path is not None:
        with replacing(Path(path)) as file:
            file.write(model.SerializeToString())
    return model


def _linear(estimator: Any) -> Map:
    check_is_fitted(estimator)
    map_, name = getattr(estimator, "map_", None), type(estimator).__name__
    if isinstance(map_, Map) and isinstance(map_.rows, Raw) and map_.known is None:
        return map_
    raise ModelError(
        f"{name} has no linear map: it embeds new points through training points, a kernel or layers, which these ONNX nodes cannot "
        "express. "
        "Use eigenspan.save to keep it for Python; PCA, LDA, LPP and other linear methods without kernel= can be exported."
    )


def _after(scaler: Any, map_: Map) -> Map:
    """Combine a scaler and a map into one map: ``((x − c)/s − m) V = (x − c − s m) V/s``."""
    if type(scaler) not in (StandardScaler, RobustScaler):
        raise ModelError(
            f"A {type(scaler).__name__} in a pipeline cannot be exported. Only StandardScaler and RobustScaler can, before the method."
        )
    check_is_fitted(scaler)
    centre = vars(scaler).get("mean_" if isinstance(scaler, StandardScaler) else "center_")
    ones = np.ones(map_.coef.shape[0])
    scale = ones if scaler.scale_ is None else scaler.scale_
    moved = scale * (0.0 if map_.offset is None else map_.offset)
    used = centre is not None and getattr(scaler, "with_mean", getattr(scaler, "with_centering", False))
    return replace(map_, coef=map_.coef / scale[:, None], offset=moved + centre if used else moved)


def _model(map_: Map, dtype: np.dtype, input_name: str, output_name: str) -> Any:
    from .. import __version__

    try:
        import onnx
        from onnx import helper, numpy_helper
    except ImportError:
        raise ModelError('to_onnx needs onnx, which is not installed: pip install "eigenspan[onnx]".') from None
    width, d = map_.coef.shape
    offset = np.zeros(width) if map_.offset is None else np.broadcast_to(map_.offset, (width,))
    constants = {"mean": offset, "V": map_.coef, **({} if map_.shift is None else {"shift": map_.shift})}
    last = output_name if map_.shift is None else "turned"
    nodes = [
        helper.make_node("Sub", [input_name, "mean"], ["centred"]),
        helper.make_node("MatMul", ["centred", "V"], [last]),
    ]
    if map_.shift is not None:
        nodes.append(helper.make_node("Add", [last, "shift"], [output_name]))
    kind = helper.np_dtype_to_tensor_dtype(dtype)
    graph = helper.make_graph(
        nodes,
        "eigenspan",
        [helper.make_tensor_value_info(input_name, kind, ["rows", width])],
        [helper.make_tensor_value_info(output_name, kind, ["rows", d])],
        [numpy_helper.from_array(np.ascontiguousarray(v, dtype=dtype), name) for name, v in constants.items()],
    )
    model = helper.make_model(graph, producer_name="eigenspan", producer_version=__version__)
    model.ir_version = _IR
    model.opset_import[0].version = _OPSET
    onnx.checker.check_model(model)
    return model
