"""Export of linear maps to ONNX, compared with other programs that run them."""

import sys

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler

import eigenspan as es
from cases import estimators, over
from eigenspan.errors import InputError, ModelError
from eigenspan.models import to_onnx

pytestmark = pytest.mark.filterwarnings("ignore::eigenspan.errors.EigenspanWarning")
LINEAR = [case for case in estimators() if case.linear]


def run(model, X):
    from onnx.reference import ReferenceEvaluator

    return ReferenceEvaluator(model).run(None, {"X": X})[0]


@over(LINEAR)
def test_linear_methods_give_the_same_embedding(case, blobs):
    pytest.importorskip("onnx", reason="onnx is not installed")
    fitted = case.fitted(blobs)
    model = to_onnx(fitted)
    assert [node.op_type for node in model.graph.node] == ["Sub", "MatMul"]
    expected = fitted.transform(blobs.X)
    np.testing.assert_allclose(run(model, blobs.X), expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
    single = run(to_onnx(fitted, dtype="float32"), blobs.X.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, expected, rtol=1e-3, atol=1e-3 * np.abs(expected).max())


def test_onnxruntime_gives_the_same_embedding(blobs, tmp_path):
    pytest.importorskip("onnx", reason="onnx is not installed")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    path, fitted = tmp_path / "pca.onnx", es.PCA(2).fit(blobs.X)
    to_onnx(fitted, path, input_name="table", output_name="axes")
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    assert [session.get_inputs()[0].name, session.get_outputs()[0].name] == ["table", "axes"]
    for rows in (blobs.X, blobs.X[:1]):
        np.testing.assert_allclose(session.run(None, {"table": rows})[0], fitted.transform(rows), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    "scalers",
    [
        [StandardScaler()], [RobustScaler()], [RobustScaler(with_centering=False), StandardScaler()],
        [StandardScaler(with_mean=False)], [StandardScaler(with_std=False), RobustScaler(with_scaling=False)],
    ],
    ids=repr,
)  # fmt: skip
def test_scalers_before_a_method(scalers, blobs):
    pytest.importorskip("onnx", reason="onnx is not installed")
    fitted = make_pipeline(*scalers, es.LDA(2)).fit(blobs.X, blobs.y)
    model = to_onnx(fitted)
    assert len(model.graph.node) == 2
    np.testing.assert_allclose(run(model, blobs.X), fitted.transform(blobs.X), rtol=1e-9, atol=1e-9)


def test_pipelines_with_other_steps_are_refused(blobs):
    with pytest.raises(ModelError, match="A MinMaxScaler in a pipeline cannot be exported"):
        to_onnx(make_pipeline(MinMaxScaler(), es.PCA(2)).fit(blobs.X))
    with pytest.raises(ModelError, match="StandardScaler has no linear map"):
        to_onnx(make_pipeline(StandardScaler()).fit(blobs.X))


@pytest.mark.parametrize("estimator", [es.Isomap(2), es.KernelPCA(2), es.LDA(2, kernel="rbf"), es.LLE(2)], ids=repr)
def test_nonlinear_maps_are_refused(estimator, blobs):
    with pytest.raises(ModelError, match="has no linear map"):
        to_onnx(estimator.fit(blobs.X, blobs.y))


def test_missing_onnx_is_reported(blobs, monkeypatch):
    fitted = es.PCA(2).fit(blobs.X)
    with pytest.raises(InputError, match="dtype='float16' cannot be used"):
        to_onnx(fitted, dtype="float16")
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ModelError, match="onnx, which is not installed: pip install"):
        to_onnx(fitted)
