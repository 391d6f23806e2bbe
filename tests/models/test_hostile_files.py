"""Damaged, foreign and crafted files are refused, and no code in them is run."""

import io
import json
import os
import pickle
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import eigenspan as es
from eigenspan.errors import MemoryLimitError, ModelError, ModelWarning
from eigenspan.models import describe
from eigenspan.models.archive import HEADER, OBJECTS
from eigenspan.models.schema import kinds
from helpers import quietly
from model_files import entries, forged, npy, sealed, spots

X = np.random.default_rng(0).standard_normal((30, 4))


class Trap:
    """Writes a file when unpickled."""

    def __init__(self, marker):
        self.marker = str(marker)

    def __reduce__(self):
        return os.mkdir, (self.marker,)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Return the bytes of a model that contains a tree, a sparse matrix and texts."""
    path = tmp_path_factory.mktemp("model") / "m.eig"
    es.save(quietly(lambda: es.Isomap(2, n_neighbors=6).fit(X)), path, provenance={"data": "noise"})
    return path.read_bytes()


def refusal(tmp_path, content):
    path = tmp_path / "bad.eig"
    path.write_bytes(content)
    with pytest.raises(ModelError) as caught:
        es.load(path)
    return str(caught.value)


def test_forged_file_without_defect_loads(whole, tmp_path):
    """A forged file without any defect loads, so the other forged files are refused because of their defects."""
    path = tmp_path / "m.eig"
    path.write_bytes(forged(whole))
    assert es.load(path).n_neighbors == 6


# ------------------------------------------------------------------ accidents
def test_truncation_at_any_byte_is_detected(whole, tmp_path):
    rng = np.random.default_rng(0)
    for length in {
        0,
        1,
        4,
        29,
        30,
        44,
        45,
        *rng.integers(len(whole), size=60).tolist(),
        len(whole) - 64,
        len(whole) - 1,
    }:
        message = refusal(tmp_path, whole[:length])
        assert ("truncated" if length >= 44 else "not an eigenspan model") in message, length


def test_alteration_of_any_byte_is_detected(whole, tmp_path):
    """Bytes in every part of the file: local headers, names, padding, texts, numbers, the directory and the checksum."""
    rng = np.random.default_rng(1)
    places = {*range(60), *rng.integers(len(whole), size=150).tolist(), *range(len(whole) - 120, len(whole))}
    for place in places:
        bent = bytearray(whole)
        bent[place] ^= 1 << rng.integers(8)
        message = refusal(tmp_path, bytes(bent))
        assert "damaged" in message or "not an eigenspan model" in message, place


def test_inserted_and_removed_bytes_are_detected(whole, tmp_path):
    middle = len(whole) // 2
    for content in (whole + b"\0", whole + whole, b"\0" + whole, whole[:middle] + whole[middle + 1 :]):
        assert "damaged" in (message := refusal(tmp_path, content)) or "not an eigenspan model" in message


@given(content=st.binary(max_size=200))
@settings(deadline=None, max_examples=50)
def test_random_bytes_are_refused(content, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "any.eig"
    for start in (b"", b"PK\x03\x04", b"\x80\x05", b"{"):
        path.write_bytes(start + content)
        with pytest.raises(ModelError):
            es.load(path)


def test_missing_file_is_refused(tmp_path):
    for path in (tmp_path, tmp_path / "absent.eig"):
        with pytest.raises(ModelError, match="There is no model file"):
            es.load(path)


# ------------------------------------------------------------------ pickles
def test_pickles_are_not_opened(tmp_path):
    marker = tmp_path / "ran"
    bomb = pickle.dumps(Trap(marker))
    with zipfile.ZipFile(other := io.BytesIO(), "w") as archive:
        archive.writestr("data.pkl", bomb)
    np.savez(arrays := io.BytesIO(), a=np.array([Trap(marker)], dtype=object))
    old = b'{"format": "eigenspan-model", "version": 1, "bytes": %d}\n' % len(bomb)
    assert "older version of eigenspan, stored as a pickle" in refusal(tmp_path, old + bomb)
    assert "stored as a pickle" in refusal(tmp_path, bomb)
    for content in (pickle.dumps(Trap(marker), protocol=0), other.getvalue(), arrays.getvalue()):
        assert "not an eigenspan model" in refusal(tmp_path, content)
    assert not marker.exists()
    pickle.loads(bomb)
    assert marker.exists(), "the trap would have closed"


def test_pickles_inside_a_model_are_not_opened(whole, tmp_path):
    marker = tmp_path / "ran"
    trapped = npy(np.array([Trap(marker)], dtype=object), allow_pickle=True)
    assert "malformed" in refusal(tmp_path, forged(whole, **{"0.npy": trapped}))
    assert "malformed" in refusal(tmp_path, forged(whole, **{"0.npy": pickle.dumps(Trap(marker))}))
    for text in (HEADER, OBJECTS):
        assert "malformed" in refusal(tmp_path, sealed({**entries(whole), text: pickle.dumps(Trap(marker))}))
    assert not marker.exists()


# ------------------------------------------------------------------ names
CALLS = [
    "os.system", "builtins.eval", "posix.system", "subprocess.Popen", "eigenspan.models.load", "__import__", "Map.__init__",
    "../PCA", "sklearn.SVC", "sklearn.preprocessing.FunctionTransformer", "pandas.read_pickle", "numpy.load",
    "Trap", "", None, 3, ["PCA"], {"ref": 0}, "PCA", "method.Reducer", "map.", "pandas.DataFrame",
]  # fmt: skip


@pytest.mark.parametrize("name", CALLS, ids=repr)
def test_unknown_kinds_are_refused(name, whole, tmp_path):
    objects = {"kinds": {}, "objects": [{"kind": name, "command": f"touch {tmp_path}/ran"}], "root": {"ref": 0}}
    assert "unknown kind" in refusal(tmp_path, forged(whole, objects))
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "name", ["__class__", "__dict__", "__reduce__", "fit", "transform", "n_components", "a.b", "", "é_"]
)
def test_unknown_attributes_are_refused(name, whole, tmp_path):
    node = {"kind": "method.PCA", "parameters": {"n_components": 2}, "attributes": {name: 1}}
    message = refusal(tmp_path, forged(whole, {"kinds": {}, "objects": [node], "root": {"ref": 0}}))
    assert "method.PCA has no attribute" in message or "both as a parameter and as an attribute" in message


VALUES = [
    {"array": 10**6}, {"array": -1}, {"array": True}, {"array": "0"}, {"ref": 0}, {"ref": -1}, {"call": "os.system"},
    {"float": "1e400"}, {"float": [1]}, {"number": ["O", 1]}, {"number": ["<f8"]}, {"dtype": "O"}, {"dtype": "f8,O"}, {"dtype": 3},
    {"tuple": 3}, {"dict": [[1]]}, {"dict": [[[1], 2]]}, {"texts": [[2], ["a"]]}, {"texts": 1}, {"scalar": 2}, {},
    {"array": 0, "ref": 0}, {"slice": [0, 1]}, {"slice": [0, "a", None]}, {"texts": [[0, 10**9], []]},
    {"texts": [[1], [[1]]]}, {"dict": [[{"dict": []}, 2]]},
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_invalid_values_are_refused(value, whole, tmp_path):
    node = {"kind": "method.PCA", "parameters": {"n_components": value}, "attributes": {}}
    assert "malformed" in refusal(tmp_path, forged(whole, {"kinds": {}, "objects": [node], "root": {"ref": 0}}))


@pytest.mark.parametrize(
    "objects",
    [
        [], {}, 3, "objects", {"objects": []}, {"kinds": {}, "objects": [], "root": {"ref": 0}}, {"kinds": 3, "objects": 3, "root": 1},
        {"kinds": {}, "objects": [{}], "root": 1}, {"kinds": {}, "objects": [3], "root": 1}, {"objects": [], "root": 1},
        *(
            {"kinds": {}, "objects": [node], "root": {"ref": 0}}
            for node in (
                {"kind": "method.PCA", "parameters": 3, "attributes": 3},
                {"kind": "method.PCA", "parameters": {"no_such": 1}, "attributes": {}},
                {"kind": "method.PCA", "attributes": {}},
                {"kind": "method.PCA", "parameters": {}, "attributes": {}, "more": 1},
                {"kind": "map.rows", "rows": 1},
                {"kind": "map.rows", "rows": 1, "coef": 2},
                {"kind": "random.RandomState", "state": {"dict": []}},
            )
        ),
        {"kinds": {"method.PCA": 2}, "objects": [{"kind": "method.PCA", "parameters": {}, "attributes": {}}], "root": {"ref": 0}},
        {"kinds": {"method.PCA": "1"}, "objects": [{"kind": "method.PCA", "parameters": {}, "attributes": {}}], "root": {"ref": 0}},
    ],
)  # fmt: skip
def test_invalid_object_lists_are_refused(objects, whole, tmp_path):
    assert "malformed" in refusal(tmp_path, forged(whole, objects))


def test_deeply_nested_json_is_refused(whole, tmp_path):
    deep = b"[" * 200_000 + b"]" * 200_000
    assert "malformed" in refusal(tmp_path, sealed({**entries(whole), OBJECTS: deep}))
    assert "malformed" in refusal(tmp_path, sealed({**entries(whole), HEADER: deep}))
    assert "malformed" in refusal(tmp_path, sealed({**entries(whole), OBJECTS: b'{"root": ' + b"9" * 5000 + b"}"}))


# ------------------------------------------------------------------ entries
@pytest.mark.parametrize(
    "name", ["../0.npy", "/etc/passwd", "00.npy", "x.py", "a\\b.npy", "objects.json/", "0.npy.pkl"]
)
def test_invalid_entry_names_are_refused(name, whole, tmp_path):
    assert "malformed" in refusal(tmp_path, sealed({**entries(whole), name: b"x"}))
    assert not (tmp_path.parent / "0.npy").exists()


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_missing_and_duplicate_entries_are_refused(whole, tmp_path):
    parts = list(entries(whole).items())
    assert "malformed" in refusal(tmp_path, sealed([*parts, parts[2]]))
    assert "malformed" in refusal(tmp_path, sealed([*parts, parts[0]]))
    assert "malformed" in refusal(tmp_path, sealed([part for part in parts if part[0] != OBJECTS]))
    assert "malformed" in refusal(tmp_path, sealed([part for part in parts if part[0] != "1.npy"]))


def test_compressed_entries_are_refused(whole, tmp_path):
    """A zip bomb needs compression."""
    bomb = sealed({**entries(whole), "0.npy": npy(np.zeros(10**6))}, packed=["0.npy"])
    assert len(bomb) < 10**6
    assert "compressed" in refusal(tmp_path, bomb)
    for name in (HEADER, OBJECTS, "1.npy"):
        assert "compressed" in refusal(tmp_path, sealed(entries(whole), packed=[name]))


@pytest.mark.parametrize("name", [HEADER, OBJECTS, "0.npy"])
def test_entries_larger_than_the_file_are_refused(name, whole, tmp_path):
    def larger(archive):
        entry = archive.getinfo(name)
        entry.file_size = entry.compress_size = 10**7

    def encrypted(archive):
        archive.getinfo(name).flag_bits |= 1

    for bend in (larger, encrypted):
        assert "larger than the file" in refusal(tmp_path, sealed(entries(whole), bend=bend))


LAYOUTS = [
    ["<f8", [10**12], False], ["<f8", [0, 10**30], False], ["<f8", [-1], False], ["<f8", [-30, -2], False], ["<f8", [60, True], False],
    ["|O", [60], False], ["|V8", [60], False], ["O,f8", [60], False], ["nonsense", [60], False], [None, [60], False], ["<f8", 60, False],
    ["<f8", [60.0], False], ["<f8", [60], 1], ["<f8", [60]], "<f8",
]  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS, ids=repr)
def test_arrays_with_a_wrong_layout_are_refused(layout, whole, tmp_path):
    objects = json.loads(entries(whole)[OBJECTS])
    content = npy(np.zeros(60))
    objects["arrays"][0] = ["<f8", [60], False]
    path = tmp_path / "m.eig"
    path.write_bytes(forged(whole, {**objects, "kinds": {}, "objects": [], "root": {"array": 0}}, **{"0.npy": content}))
    with pytest.raises(ModelError, match="it contains no estimator"):  # an array in a valid file
        es.load(path)
    objects["arrays"][0] = layout
    assert "malformed" in refusal(tmp_path, forged(whole, objects, **{"0.npy": content}))


@pytest.mark.parametrize("content", [b"", b"\x93NUMPY", b"\x93NUMPY\x09\0", b"\x93NUMPY\x01\0\xff\xff{}", b"\0" * 200])
def test_entries_that_are_not_arrays_are_refused(content, whole, tmp_path):
    assert "malformed" in refusal(tmp_path, forged(whole, **{"0.npy": content}))


def test_models_larger_than_memory_are_refused(whole, tmp_path, monkeypatch):
    path = tmp_path / "m.eig"
    path.write_bytes(whole)
    monkeypatch.setenv("EIGENSPAN_MEMORY", "1K")
    with pytest.raises(MemoryLimitError, match="The model in this file would need"):
        es.load(path)
    monkeypatch.setenv("EIGENSPAN_MEMORY", f"{len(whole) // 2}")
    with pytest.raises(MemoryLimitError, match='with mmap_mode="r"'):
        es.load(path)


# ------------------------------------------------------------------ fields that do not fit together
def tampered(whole, kind, change):
    """Return the model with changed fields in every object of the kind."""
    objects = json.loads(entries(whole)[OBJECTS])
    found = [node for node in objects["objects"] if node["kind"] == kind]
    assert found
    for node in found:
        change(node)
    return forged(whole, objects)


def test_sparse_indices_out_of_range_are_refused(whole, tmp_path):
    for change in ({"shape": {"tuple": [30, 3]}}, {"shape": {"tuple": [10**13, 30]}}, {"indptr": [0, 10**9]}):
        assert "malformed" in refusal(tmp_path, tampered(whole, "sparse.csr_array", lambda p, c=change: p.update(c)))
    assert "malformed" in refusal(tmp_path, tampered(whole, "sparse.csr_array", lambda p: p.update(indices=p["data"])))
    assert "malformed" in refusal(
        tmp_path, tampered(whole, "sparse.csr_array", lambda p: p.update(indptr=p["indices"]))
    )


@pytest.mark.parametrize("place", [-1, 30, 2**31 - 1])
def test_edges_to_missing_points_are_refused(place, whole, tmp_path):
    objects = json.loads(entries(whole)[OBJECTS])
    (spot, *_) = [node["indices"]["array"] for node in objects["objects"] if node["kind"] == "sparse.csr_array"]
    dtype, shape, _ = objects["arrays"][spot]
    indices = np.zeros(shape, dtype)
    indices[3] = place
    assert "it has indices from" in refusal(tmp_path, forged(whole, **{f"{spot}.npy": npy(indices)}))


def test_fields_of_wrong_type_are_refused(whole, tmp_path):
    for kind, field in (
        ("map.rows", "coef"),
        ("search.tree", "points"),
        ("known.rows", "order"),
        ("finder.nearest", "engine"),
    ):
        told = refusal(tmp_path, tampered(whole, kind, lambda p, field=field: p.update({field: [1.0]})))
        assert f"{kind}.{field} " in told

    def narrow(parts):
        parts["attributes"]["n_features_in_"] = 3

    assert "method.Isomap.map_ has 4 where D is 3" in refusal(tmp_path, tampered(whole, "method.Isomap", narrow))


def test_inconsistent_lengths_of_neighbours_and_points_are_refused(tmp_path):
    path = tmp_path / "lle.eig"
    es.save(es.LLE(2, n_neighbors=6).fit(X), path)
    objects = json.loads(entries(path.read_bytes())[OBJECTS])
    few = len(entries(path.read_bytes())) - 2
    for node in objects["objects"]:
        if node["kind"] == "rows.barycentric":
            node["points"] = {"array": few}
    objects["arrays"].append(["<f8", [5, 4], False])
    content = forged(path.read_bytes(), objects, **{f"{few}.npy": npy(X[:5])})
    assert "rows.barycentric.points" in refusal(tmp_path, content)


def test_more_neighbours_than_points_are_refused(whole, tmp_path):
    content = tampered(whole, "finder.nearest", lambda p: p.update(n_neighbors=2**31 - 1))
    assert "n_neighbors=2147483647 is more than the 30 points" in refusal(tmp_path, content)


def test_cluster_centres_of_wrong_width_are_refused(tmp_path):
    path = tmp_path / "clusters.eig"
    es.save(quietly(lambda: es.SpectralClustering(3).fit(X)), path)
    for field, value in (("n_features_in_", 50), ("_n_threads", 10**6), ("_n_features_out", 2)):
        content = tampered(
            path.read_bytes(), "sklearn.KMeans", lambda p, f=field, v=value: p["attributes"].update({f: v})
        )
        assert "sklearn.KMeans" in refusal(tmp_path, content)


def test_cyclic_tree_is_refused(tmp_path):
    path = tmp_path / "tree.eig"
    es.save(quietly(lambda: es.PDDP(4).fit(X)), path)
    whole = path.read_bytes()
    objects = json.loads(entries(whole)[OBJECTS])
    (node,) = [node for node in objects["objects"] if node["kind"] == "method.PDDP"]
    spot = node["attributes"]["tree_"]["array"]
    for tree in ([[1, 0], [2, -1], [-2, -3]], [[1, 2], [-1, -9], [-2, -3]], [[1, 3], [-1, 2], [-2, -3]]):
        content = forged(whole, objects, **{f"{spot}.npy": npy(np.array(tree))})
        assert "does not lead from the root" in refusal(tmp_path, content)


@pytest.mark.parametrize(
    "part, value", [("links", -1), ("links", 10**9), ("effort", 0), ("effort", "x"), ("links", None)]
)
def test_unreasonable_navigable_graphs_are_refused(part, value):
    whole = {"points": X, "links": 32, "effort": 128, "centre": X[0]}
    kinds()["search.hnsw"].check(whole, lambda _: None)
    with pytest.raises(ValueError, match=f"search.hnsw.{part} "):
        kinds()["search.hnsw"].check({**whole, part: value}, lambda _: None)


@pytest.mark.parametrize(
    "field, value", [("pos", 10**8), ("pos", -1), ("has_gauss", 2), ("key", [1, 2]), ("gauss", "x")]
)
def test_generator_states_out_of_range_are_refused(field, value, tmp_path):
    path = tmp_path / "state.eig"
    es.save(es.PCA(2, random_state=np.random.RandomState(0)), path)
    content = tampered(path.read_bytes(), "random.RandomState", lambda p: p.update({field: value}))
    assert f"random.RandomState.{field} " in refusal(tmp_path, content)


def test_pipeline_with_a_pickle_cache_is_refused(tmp_path):
    path = tmp_path / "pipeline.eig"
    es.save(make_pipeline(StandardScaler(), es.PCA(2)), path)
    content = tampered(path.read_bytes(), "sklearn.Pipeline", lambda p: p["parameters"].update(memory=str(tmp_path)))
    assert "cache of pickles" in refusal(tmp_path, content)


def test_function_named_in_a_file_is_refused(tmp_path):
    path = tmp_path / "pipeline.eig"
    es.save(make_pipeline(FunctionTransformer(), es.PCA(2)), path)
    for name in ("func", "inverse_func"):
        content = tampered(
            path.read_bytes(), "sklearn.FunctionTransformer", lambda p, n=name: p["parameters"].update({n: "os.system"})
        )
        assert "is a function" in refusal(tmp_path, content)


def test_repeated_references_to_an_array_are_limited(whole, tmp_path):
    """Many references to one large array would take hours to check."""
    objects = json.loads(entries(whole)[OBJECTS])
    place = len(objects["arrays"])
    objects["arrays"].append(["<i8", [10**6], False])
    node = {"kind": "known.distances", "columns": {"array": place}}
    objects["objects"] = [node] * 1000
    objects["root"] = {"ref": 0}
    content = forged(whole, objects, **{f"{place}.npy": npy(np.arange(10**6))})
    assert "more often than allowed" in refusal(tmp_path, content)


def test_randomly_exchanged_parts_load_or_are_refused(whole, tmp_path):
    """A file of the right form is loaded or refused with ModelError; no other exception is allowed."""
    path, original = tmp_path / "m.eig", json.loads(entries(whole)[OBJECTS])
    rng, refusals = np.random.default_rng(2), 0
    for _ in range(120):
        objects = json.loads(json.dumps(original))
        places = [*spots(objects)]
        (holder, key), (other, there) = (places[i] for i in rng.integers(len(places), size=2))
        holder[key] = json.loads(json.dumps(other[there]))
        path.write_bytes(forged(whole, objects))
        try:
            quietly(lambda: es.load(path))
        except ModelError:
            refusals += 1
    assert 30 < refusals < 120


# ------------------------------------------------------------------ versions
def test_other_format_versions_are_refused(whole, tmp_path):
    versions = {"eigenspan": "9.1", "scikit-learn": "1"}
    message = refusal(tmp_path, forged(whole, header={"version": 3, "versions": versions}))
    assert "version 3 of the model format, written by eigenspan 9.1" in message
    assert "Install that version or a later one" in message
    message = refusal(tmp_path, forged(whole, header={"version": 1, "versions": versions}))
    assert "fit the model again" in message
    for header in ({"version": "2"}, {"format": "other"}, {"version": None}, {"version": True}):
        assert "malformed" in refusal(tmp_path, forged(whole, header=header))


def test_other_library_version_loads_the_same_model(whole, tmp_path):
    path = tmp_path / "m.eig"
    path.write_bytes(forged(whole, header={"versions": {"eigenspan": "0.0.1"}}))
    es.load(path)
    assert describe(path)["versions"] == {"eigenspan": "0.0.1"}


def test_another_version_of_scikit_learn_warns(tmp_path):
    path = tmp_path / "m.eig"
    es.save(make_pipeline(StandardScaler(), es.PCA(2)).fit(X), path)
    path.write_bytes(forged(path.read_bytes(), header={"versions": {"eigenspan": "0.0.1", "scikit-learn": "1.0"}}))
    with pytest.warns(ModelWarning, match=r"saved by scikit-learn 1\.0, while this is scikit-learn"):
        es.load(path)


def test_parameters_unknown_to_the_installed_scikit_learn_are_dropped(tmp_path):
    path = tmp_path / "m.eig"
    es.save(make_pipeline(StandardScaler(), es.PCA(2)).fit(X), path)
    content = tampered(path.read_bytes(), "sklearn.StandardScaler", lambda p: p["parameters"].update(of_tomorrow=1))
    path.write_bytes(content)
    with pytest.warns(ModelWarning, match="has no of_tomorrow in StandardScaler"):
        assert es.load(path).transform(X).shape == (30, 2)


def test_fields_of_a_later_version_are_refused(whole, tmp_path):
    path = tmp_path / "m.eig"
    content = tampered(whole, "map.rows", lambda p: p.update(of_tomorrow=1))
    path.write_bytes(forged(content, header={"versions": {"eigenspan": "9.1"}}))
    with pytest.raises(ModelError, match=r"saved by eigenspan 9\.1.* and cannot be loaded here"):
        es.load(path)


def test_older_fields_are_migrated(whole, tmp_path, monkeypatch):
    """A kind with changed fields must read files with the older fields."""
    from dataclasses import replace

    from eigenspan.models import tree

    now = kinds()["known.rows"]
    later = replace(
        now,
        version=3,
        migrations={
            1: lambda parts: {**parts, "more": 1},
            2: lambda parts: {k: v for k, v in parts.items() if k != "more"},
        },
    )
    monkeypatch.setattr(tree, "kinds", lambda: {**kinds(), "known.rows": later})
    path = tmp_path / "m.eig"
    path.write_bytes(whole)
    es.load(path)
    objects = json.loads(entries(whole)[OBJECTS])
    objects["kinds"]["known.rows"] = 4
    assert "known.rows has version 4, but this version of eigenspan reads 1 to 3" in refusal(
        tmp_path, forged(whole, objects)
    )
