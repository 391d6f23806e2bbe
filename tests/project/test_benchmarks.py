"""The benchmarks: a small task in real processes, and the page computed from known numbers."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest

data, quality, report, runner, tasks, worker = (
    pytest.importorskip(f"benchmarks.{name}", reason="benchmarks/ is not part of this distribution")
    for name in ("data", "quality", "report", "runner", "tasks", "worker")
)
TASKS, Contender = tasks.TASKS, tasks.by.Contender
TINY = """
import time
from benchmarks import contenders as by, data, quality
from benchmarks.tasks import Task

def fails(data, seed):
    raise ValueError("no such luck in /some/where/else.py")

def sleeps(data, seed):
    time.sleep(30 if len(data["X"]) == 300 else 0)

def does_nothing(data, seed):
    return None, data["X"]

TASKS = (
    Task(
        "tiny", "Isomap, tiny", data.roll,
        (
            by.ours("Isomap", n_neighbors=12), by.sklearn("manifold.Isomap", n_neighbors=12),
            by.Contender("fails", fails),
            by.Contender("absent", sleeps, needs="no_such_module"), by.Contender("small", sleeps, upto=100),
        ),
        (300,), quality.each({"apart": quality.to_peer("scikit-learn")}), warm=100, limit=300.0,
    ),
    Task(
        "late", "A peer that is late", data.roll, (by.Contender(by.OURS, does_nothing), by.Contender("sleeps", sleeps)),
        (300, 301), quality.each({}), warm=100, limit=1.0,
    ),
)
"""


def row(name, seconds, status="ok", message="", **rest):
    peaks = [100.0] * len(seconds)
    fixed = {"name": name, "status": status, "message": message, "seconds": seconds, "cpu": seconds, "peak_mb": peaks}
    return fixed | {"quality": {}, "said": ""} | rest


def entry(size, *rows, task="task", compared=True):
    fixed = {"task": task, "title": "A task", "size": size, "limit": 60.0, "compared": compared}
    return fixed | {"date": "2024-01-01", "commit": "abc", "note": "", "contenders": list(rows)}


def record(*entries):
    fixed = {"suite": "bench", "command": "python -m benchmarks bench", "threads": 2}
    return fixed | {"machine": runner.machine(), "versions": runner.versions(), "entries": list(entries)}


@pytest.mark.long
def test_a_tiny_task_from_processes_to_page(tmp_path, monkeypatch):
    (tmp_path / "tiny_tasks.py").write_text(TINY, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.syspath_prepend(str(tmp_path))
    both = [worker.find("tiny_tasks", name) for name in ("tiny", "late")]
    path = tmp_path / "results" / "bench.json"
    runner.run_suite(both, path, full=True, repeats=1, table="tiny_tasks", say=lambda line: None)

    found = json.loads(path.read_text(encoding="utf-8"))
    rows, late, later = ({row["name"]: row for row in entry["contenders"]} for entry in found["entries"])
    assert {name: row["status"] for name, row in rows.items()} == {
        "eigenspan": "ok", "scikit-learn": "ok", "fails": "error", "absent": "not installed", "small": "not run",
    }  # fmt: skip
    assert {name: row["status"] for name, row in late.items()} == {"eigenspan": "ok", "sleeps": "timeout"}
    assert later["eigenspan"]["status"] == "ok"
    assert later["sleeps"]["message"] == "not run: too slow at 300"
    for name in ("eigenspan", "scikit-learn"):
        assert rows[name]["seconds"][0] > 0
    assert rows["eigenspan"]["quality"]["apart"] < 1e-6
    assert rows["eigenspan"]["quality"]["residual"] < 1e-9

    docs = tmp_path / "docs"
    docs.mkdir()
    page = report.write(path, docs).read_text(encoding="utf-8")
    assert "ValueError: no such luck in …/else.py" in page
    assert "/some/where" not in page
    for cell in ("| > 1 s |", "| not installed |", "| not run above 100 |"):
        assert cell in page
    assert (docs / "images" / report.RATIOS).stat().st_size > 1000


def test_the_ratio_is_the_peers_time_over_ours(tmp_path):
    rows = [row("eigenspan", [0.4, 0.5, 9.0]), row("peer", [1.5, 1.5, 1.5]), row("late", [], "timeout", "> 60 s")]
    shown = entry(1000, *rows)
    assert report.ratios(shown) == {"peer": (3.0, False), "late": (120.0, True)}
    page = report.render(record(shown))
    assert "| 1,000 | eigenspan | 0.5 | 100 | – | 1 |" in page
    assert "| 1,000 | peer | 1.5 | 100 | – | 3× |" in page
    assert "| 1,000 | late | > 60 s | – | – | > 120× |" in page


def test_no_ratio_if_our_run_failed():
    shown = entry(1000, row("eigenspan", [], "error", "bad | worse"), row("peer", [1.5], said="`oh`"))
    page = report.render(record(shown))
    assert report.ratios(shown) == {}
    assert "| 1,000 | eigenspan | bad \\| worse | – | – | – |" in page
    assert "| 1,000 | peer | 1.5 (1 run) | 100 | – | – |" in page
    assert "peer at n = 1,000 said: `oh`" in page


def test_the_readme_has_the_table_of_the_results():
    found = json.loads((report.RESULTS / "full.json").read_text(encoding="utf-8"))
    text = (report.ROOT / "README.md").read_text(encoding="utf-8")
    assert report.with_summary(text, found) == text
    assert text.count("\n| ") > 10


def test_readme_and_page_agree_with_the_results():
    found = json.loads((report.RESULTS / "full.json").read_text(encoding="utf-8"))
    readme = (report.ROOT / "README.md").read_text(encoding="utf-8").split("## Speed")[1].split("\n## ")[0]
    page = (report.ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    wanted = {(task, size) for _, task, size in report.SUMMARY}
    shown = [entry for entry in found["entries"] if (entry["task"], entry["size"]) in wanted]
    compared = [entry for entry in found["entries"] if entry["compared"]]
    for text, entries, names in ((readme, shown, ("eigenspan", "scikit-learn", "tapkee")), (page, compared, ("",))):
        counts: dict[int, int] = {}
        for entry in entries:
            for row in entry["contenders"]:
                if row["status"] == "ok" and row["name"].startswith(names):
                    counts[len(row["seconds"])] = counts.get(len(row["seconds"]), 0) + 1
        stated = {int(n): int(times) for times, n in re.findall(r"(\d+) of (\d+) runs?", text)}
        assert stated == counts
    assert "three runs" not in readme
    assert report.render(found, "benchmarks/results/full.json") == page


def test_a_row_of_the_readme_names_every_variant_of_a_peer():
    rows = [
        row("eigenspan", [2.0]),
        row("scikit-learn arpack", [4.0]),
        row("scikit-learn amg", [], "timeout", "> 60 s"),
    ]
    shown = entry(10_000, *rows) | {"task": "isomap"}
    line = "| Isomap, all pairs, 10,000 points | 2 s | 4 s (arpack), > 60 s (amg) | – |"
    assert report.summary(record(shown)).splitlines()[2:] == [line]


def test_planned_tasks_without_results_are_listed():
    page = report.render(record(entry(1000, row("eigenspan", [1.0, 1.0, 1.0]))) | {"suite": "full"})
    listed = page.split("## Planned and not measured yet")[1]
    assert "; hessian-lle (10,000, 50,000);" in listed
    assert "; pixels-eigenmaps (70,000);" in listed
    assert "; pixels-ltsa (70,000);" in listed


def test_rows_name_their_version_of_mnist():
    known = {task.name: task for task in TASKS}
    for label, name, size in report.SUMMARY:
        assert size in known[name].sizes
        what = {data.mnist: "MNIST reduced to 50 principal components", data.mnist_images: "MNIST, 784 pixels"}
        assert what.get(known[name].make, "") in label
        assert what.get(known[name].make, "") in known[name].title


def test_a_readme_row_without_a_result_is_left_out():
    assert len(report.summary(record()).splitlines()) == 2
    assert "70,000" not in report.summary(record(entry(10_000, row("eigenspan", [2.0]), task="pixels-ltsa")))


def test_growth_is_fitted_to_the_upper_half(tmp_path):
    sizes = [10**3, 10**4, 10**5, 10**6]
    seconds = [5.0, 5.0, 1e-7 * 1e5**1.5, 1e-7 * 1e6**1.5]
    assert report.exponent(sizes, seconds) == pytest.approx(1.5)
    grown = record(*(entry(n, row("eigenspan", [s]), compared=n == 10**4) for n, s in zip(sizes, seconds, strict=True)))
    assert "| A task | 5 | 5 | 3.16 | 100 | 1.50 |" in report.render(grown)
    report.draw(grown, tmp_path)
    assert (tmp_path / report.GROWTH).exists()


def test_contenders_take_turns_until_they_fail_or_take_long(monkeypatch):
    calls = []

    def child(job, patience):
        if job["verb"] == "grade":
            assert job["runs"]["steady"] == ["result-steady-0", "result-steady-1"]
            return {"status": "ok", "quality": {"steady": {"good": 1.0}}}
        if job["verb"] == "make":
            return {"status": "ok"}
        calls.append((job["contender"], job["seed"]))
        if job["contender"] == "late":
            return {"status": "timeout"}
        seconds = {"steady": 1.0, "twice": runner.LONG / 2 + 1, "long": runner.LONG + 1}[job["contender"]]
        return {"status": "ok", "seconds": seconds, "cpu": 1.0, "peak_mb": None, "quality": {}}

    monkeypatch.setattr(runner, "run_job", child)
    four = tuple(Contender(name, lambda data, seed: (None, None)) for name in ("steady", "late", "twice", "long"))
    made = replace(TASKS[0], contenders=four)
    rows = runner.run_task(made, 2000, repeats=3, limit=60.0, say=lambda line: None)["contenders"]
    first = [("steady", 0), ("late", 0), ("twice", 0), ("long", 0)]
    assert calls == [*first, ("steady", 1), ("twice", 1), ("steady", 2)]
    assert [row["message"] for row in rows] == ["", "> 60 s", "", ""]
    assert rows[0]["quality"] == {"good": 1.0}


def test_memory_is_the_peak_during_the_call():
    def fit(data, seed):
        np.ones(30_000_000).sum()
        return None, np.zeros((3, 2))

    found, arrays = worker.timed(Contender("big", fit), {}, {}, 0, 60.0)
    assert arrays["Y"].shape == (3, 2)
    if found["peak_mb"] is None:
        pytest.skip("the system does not tell the peak memory of a call")
    assert 200 < found["peak_mb"] < 400


def test_the_table_of_tasks_is_consistent():
    assert len({task.name for task in TASKS}) == len(TASKS)
    for task in TASKS:
        assert task.contenders[0].name == "eigenspan"
        assert len({contender.name for contender in task.contenders}) == len(task.contenders)
        assert set(task.planned(full=False)) <= set(task.planned(full=True))
        assert list(task.sizes) == sorted(task.sizes)
        assert 0 <= task.short <= len(task.sizes)


def test_missing_data_are_reported(monkeypatch):
    monkeypatch.delenv("EIGENSPAN_DATA", raising=False)
    with pytest.raises(data.MissingDataError, match="EIGENSPAN_DATA"):
        data.mnist(10)


def test_measures_of_known_distances():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((200, 2))
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    assert quality.procrustes(A, 3 * A @ turn + 5) < 1e-12
    assert quality.procrustes(A, A[::-1]) > 0.5
    assert quality.affine_r2(A, A @ rng.standard_normal((2, 2))) == pytest.approx(1.0)
    E = np.eye(4)
    assert quality.degrees(E[:, :2], E[:, :1] + E[:, 2:3]) == pytest.approx(45.0)
    graph = data.roll_graph(400)
    U = np.linalg.eigh(quality.normalised_laplacian(graph["W"])[0].toarray())[1][:, 1:3]
    Y = U / quality.normalised_laplacian(graph["W"])[1][:, None]
    assert quality.walk_residual(graph["W"], Y) < 1e-9
    assert quality.walk_residual(graph["W"], Y + 0.01 * rng.standard_normal(Y.shape) * Y.std()) > 1e-3
    assert quality.walk_vectors(graph, {"exact": [{"Y": Y}]})["exact"]["cosine to exact"] == pytest.approx(1.0)


@pytest.fixture
def regression(tmp_path, monkeypatch):
    (tmp_path / "tiny_tasks.py").write_text(TINY, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return pytest.importorskip("benchmarks.regression")


def tiny():
    ours = tasks.by.ours("Isomap", n_neighbors=12)
    return tasks.Task("tiny", "Isomap, tiny", data.roll, (ours,), (300,), quality.each({}), warm=100)


@pytest.mark.long
def test_two_versions_are_measured_alternately(regression):
    sources = runner.ROOT / "src"
    pair = regression.measure(tiny(), 300, sources, sources, 2, 60.0, "tiny_tasks")
    assert not pair.failures
    assert len(pair.seconds["old"]) == len(pair.seconds["new"]) == 2
    assert pair.ratio({"old": [1.0, 2.0, 9.0], "new": [1.0, 1.0, 1.0]}) == 0.5


def test_a_version_whose_import_fails_is_reported(regression, tmp_path):
    broken = tmp_path / "old" / "eigenspan"
    broken.mkdir(parents=True)
    (broken / "__init__.py").write_text("raise ImportError('an old version')", encoding="utf-8")
    sources = runner.ROOT / "src"
    pair = regression.measure(tiny(), 300, broken.parent, sources, 1, 60.0, "tiny_tasks")
    assert "an old version" in pair.failures["old"]
    assert "new" not in pair.failures
    assert "an old version" in pair.line()
    assert regression.summary([pair]) == "No task was measured with both versions."
