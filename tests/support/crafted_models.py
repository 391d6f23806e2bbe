"""Malicious model files that try to exhaust memory, to run forever, to read beyond an array, or to start a program.

Each has a correct checksum and the entries of a model. Loading must refuse the file, or using it must be harmless.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from eigenspan.models.archive import HEADER, OBJECTS
from model_files import entries, forged, npy, sealed

Content = bytes
Objects = dict[str, Any]
HUGE = 2**31 - 1


def _changed(whole: bytes, kind: str, change: Callable[[Any], None]) -> Content:
    objects = json.loads(entries(whole)[OBJECTS])
    found = [node for node in objects["objects"] if node["kind"] == kind]
    assert found, kind
    for node in found:
        change(node)
    return forged(whole, objects)


def _alone(whole: bytes, *nodes: Any, arrays: Any = ()) -> Content:
    """Return a model with these objects and arrays; the last object is the parameter of a PCA."""
    holder = {"kind": "method.PCA", "parameters": {"n_components": {"ref": len(nodes) - 1}}, "attributes": {}}
    layouts = [[array.dtype.str, list(array.shape), False] for array in arrays]
    objects = {"arrays": layouts, "kinds": {}, "objects": [*nodes, holder], "root": {"ref": len(nodes)}}
    texts = {HEADER: entries(whole)[HEADER], OBJECTS: json.dumps(objects).encode()}
    return sealed({**texts, **{f"{i}.npy": npy(array) for i, array in enumerate(arrays)}})


def _layouts(whole: bytes, layout: list[Any], size: int = 0) -> Content:
    objects = json.loads(entries(whole)[OBJECTS])
    place = len(objects["arrays"])
    objects["arrays"].append(layout)
    for node in objects["objects"]:
        if node["kind"] == "search.tree":
            node["points"] = {"array": place}
    return forged(whole, objects, **{f"{place}.npy": npy(np.zeros(size))})


def _array(whole: bytes, kind: str, field: str, array: Any) -> Content:
    """Return the model with another array in a field of an object or of its attributes."""
    objects = json.loads(entries(whole)[OBJECTS])
    place = len(objects["arrays"])
    objects["arrays"].append([array.dtype.str, list(array.shape), False])
    for node in objects["objects"]:
        if node["kind"] == kind:
            node.get("attributes", node)[field] = {"array": place}
    return forged(whole, objects, **{f"{place}.npy": npy(array)})


def crafted(folder: Path) -> dict[str, tuple[str, Content]]:
    """Return name -> (original model, crafted file) for golden models in this folder."""
    names = (
        "Isomap", "LLE", "PDDP", "KernelPCA", "SpectralClustering", "DistortionDiscriminantAnalysis", "LaplacianEigenmaps", "PCA",
        "OrdinalIsomap", "PPCA", "MixturePPCA", "mode random state", "mode one-hot", "mode scaled", "mode heat kernel", "mode transformer",
        "mode paths", "mode columns", "mode minkowski", "LDA", "ContingencySDR",
    )  # fmt: skip
    of = {name: (folder / f"{name}.eig").read_bytes() for name in names}
    found: dict[str, tuple[str, Content]] = {}

    def add(what: str, name: str, content: Content) -> None:
        found[what] = name, content

    def set_(what: str, name: str, kind: str, **fields: Any) -> None:
        add(what, name, _changed(of[name], kind, lambda node: node.update(fields)))

    def set_attributes(what: str, name: str, kind: str, **fields: Any) -> None:
        add(what, name, _changed(of[name], kind, lambda node: node["attributes"].update(fields)))

    def set_parameters(what: str, name: str, kind: str, **fields: Any) -> None:
        add(what, name, _changed(of[name], kind, lambda node: node["parameters"].update(fields)))

    isomap, pca = of["Isomap"], of["PCA"]
    # ------------------------------------------------------------------ memory
    frame = {
        "kind": "pandas.DataFrame",
        "columns": ["a"],
        "values": [1.0],
        "index": [0, 10**9, 1],
        "names": [None, None],
    }
    add("a table of one number and many rows", "PCA", _alone(pca, frame))
    diagonal = {
        "kind": "sparse.dia_array",
        "shape": {"tuple": [10**5, 10**5]},
        "data": {"array": 0},
        "offsets": {"array": 1},
    }
    add("a matrix of diagonals", "PCA", _alone(pca, diagonal, arrays=[np.zeros((1, 1)), np.zeros(1, dtype=np.int64)]))
    tall = {
        "kind": "sparse.csr_array",
        "shape": {"tuple": [1, 2**40]},
        "data": {"array": 0},
        "indices": {"array": 1},
        "indptr": {"array": 2},
    }
    numbers = [np.ones(1), np.zeros(1, dtype=np.int64), np.array([0, 1])]
    add("a sparse row of 2^40 columns", "PCA", _alone(pca, tall, arrays=numbers))
    add(
        "a sparse matrix that lacks its rows",
        "PCA",
        _alone(pca, {**tall, "shape": {"tuple": [10**9, 4]}}, arrays=numbers),
    )
    set_("neighbours without end", "Isomap", "finder.nearest", n_neighbors=HUGE)
    set_("neighbours and a radius", "Isomap", "finder.nearest", radius=1.0)
    add("an array beside an axis of zero", "Isomap", _layouts(isomap, ["<f8", [2**40, 0], False]))
    add("texts of no letters", "Isomap", _layouts(isomap, ["<U0", [2**40], False]))
    add("an array longer than its entry", "Isomap", _layouts(isomap, ["<f8", [2**40], False], 4))
    add(
        "texts in the shape of many",
        "PCA",
        _changed(pca, "method.PCA", lambda n: n["parameters"].update(n_components={"texts": [[0, 10**12], []]})),
    )
    set_("frames without end", "DistortionDiscriminantAnalysis", "layer", frames=HUGE)
    set_("steps without end", "DistortionDiscriminantAnalysis", "layer", step=HUGE)
    set_("no step", "DistortionDiscriminantAnalysis", "layer", step=0)
    add(
        "many categories",
        "mode one-hot",
        _changed(
            of["mode one-hot"], "sklearn.OneHotEncoder", lambda n: n["attributes"].update(_n_features_outs=[HUGE, HUGE])
        ),
    )
    set_parameters("clusters without end", "SpectralClustering", "sklearn.KMeans", n_clusters=HUGE)
    set_attributes("threads without end", "SpectralClustering", "sklearn.KMeans", _n_threads=HUGE)
    set_parameters("workers without end", "mode transformer", "sklearn.KNeighborsTransformer", n_jobs=HUGE)
    set_parameters("more neighbours than rows", "mode transformer", "sklearn.KNeighborsTransformer", n_neighbors=HUGE)
    add(
        "one array, looked at many times",
        "PCA",
        _alone(pca, *[{"kind": "known.distances", "columns": {"array": 0}}] * 3000, arrays=[np.arange(10**5)]),
    )
    # ------------------------------------------------------------------ time
    add("a tree that leads in a circle", "PDDP", _array(of["PDDP"], "method.PDDP", "tree_", np.array([[0, 0]])))
    add("a tree that leads outside", "PDDP", _array(of["PDDP"], "method.PDDP", "tree_", np.array([[99, -1]])))
    add("a text nested without end", "PCA", sealed({**entries(pca), OBJECTS: b"[" * 10**6 + b"]" * 10**6}))
    add("a number of many digits", "PCA", sealed({**entries(pca), OBJECTS: b'{"root": ' + b"9" * 10**6 + b"}"}))
    add(
        "a distance without end",
        "mode minkowski",
        _changed(of["mode minkowski"], "metric", lambda n: n.update(parameters={"dict": [["p", 1e308]]})),
    )
    # ------------------------------------------------------------------ crashes
    set_("a position outside the state", "mode random state", "random.RandomState", pos=10**8)
    add(
        "a short state",
        "mode random state",
        _array(of["mode random state"], "random.RandomState", "key", np.zeros(3, dtype=np.uint32)),
    )
    add("places outside the training points", "Isomap", _array(isomap, "known.rows", "order", np.full(30, HUGE)))
    add(
        "nodes outside the graph",
        "mode heat kernel",
        _array(of["mode heat kernel"], "rows.graph", "labels", np.full(30, HUGE)),
    )
    add(
        "fewer reaches than points",
        "LaplacianEigenmaps",
        _array(of["LaplacianEigenmaps"], "finder.joining", "reach", np.zeros(1)),
    )
    add("points of another width", "LLE", _array(of["LLE"], "search.tree", "points", np.zeros((30, 400))))
    add("edges outside the graph", "Isomap", _array(isomap, "sparse.csr_array", "indices", np.full(10, -5)))
    add(
        "centres of another width",
        "SpectralClustering",
        _array(of["SpectralClustering"], "sklearn.KMeans", "cluster_centers_", np.zeros((3, 900))),
    )
    add(
        "an empty table of distances",
        "OrdinalIsomap",
        _array(of["OrdinalIsomap"], "rows.ordinal", "given", np.zeros(0)),
    )
    # ------------------------------------------------------------------ code
    for name in ("os.system", "builtins.eval", "subprocess.Popen", "eigenspan.models.load", "numpy.load"):
        add(
            f"a call of {name}", "PCA", _alone(pca, {"kind": name, "parameters": {"command": "true"}, "attributes": {}})
        )
    set_parameters("a cache of pickles", "mode scaled", "sklearn.Pipeline", memory="/tmp")
    set_attributes(
        "a method in place of an attribute", "PCA", "method.PCA", transform="os.system", __class__="os.system"
    )
    return found


def make(folder: Path, target: Path) -> None:
    """Write the crafted files and the names of their original models for `tampering.use_all`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for i, (what, (name, content)) in enumerate(crafted(folder).items()):
            (target / f"{i:02d} {what}.eig").write_bytes(content)
            (target / f"{i:02d} {what}.txt").write_text(name)
