"""Studies on workers of Dask: whoever is killed, every point is computed once, and results are those of one process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner

import isthmus
from isthmus.cli import cli
from isthmus.errors import InvalidInput, Unsupported
from isthmus.studies import Study, backend, batch, spool
from isthmus.studies.backend import Done, Task
from isthmus.studies.batch import Work, carry_out
from isthmus.studies.ledger import Ledger, key
from isthmus.studies.live import Live
from isthmus.studies.parameters import kind_named

SLEEPING = Path(__file__).parent / "sleeping"
TEXT = """
format = 1
name = "sleeping"
kind = "sleeping"
[[grid]]
seconds = {seconds}
poison = {poison}
trail = "{trail}"
number = [{numbers}]
"""


@pytest.fixture(autouse=True)
def sleeping(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kind ``sleeping``, here and in processes that are started."""
    monkeypatch.setenv("PYTHONPATH", str(SLEEPING))
    monkeypatch.syspath_prepend(str(SLEEPING))
    from isthmus.studies import parameters

    monkeypatch.setitem(sys.modules, "isthmus.studies.sleeping", __import__("sleeping"))
    monkeypatch.setitem(parameters._MODULES, "sleeping", "sleeping")


def write(folder: Path, points: int, *, seconds: float = 0.03, poison: int = 2**40) -> str:
    path = folder / "sleeping.toml"
    numbers = ", ".join(map(str, range(points)))
    path.write_text(TEXT.format(seconds=seconds, poison=poison, trail=folder / "trail", numbers=numbers))
    return str(path)


def computed(folder: Path) -> Counter[int]:
    """How often each point was computed, by what the points wrote down."""
    return Counter(int(line.split()[0]) for line in (folder / "trail").read_text().splitlines())


def once(points: int) -> Counter[int]:
    return Counter(dict.fromkeys(range(points), 1))


def wait_for(folder: Path, points: int) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        if (folder / "trail").exists() and len((folder / "trail").read_text().splitlines()) >= points:
            return
        time.sleep(0.02)
    raise AssertionError(f"fewer than {points} points in a minute")


def processes(words: str) -> list[int]:
    """Processes of this user with these words in their command line."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
            if words in line:
                found.append(int(entry.name))
    return found


def workers_of(folder: Path) -> set[int]:
    return {int(line.split()[1]) for line in (folder / "trail").read_text().splitlines()}


def gone(numbers: set[int]) -> bool:
    """Whether these processes end within half a minute; who is not waited for yet has ended too."""
    until = time.monotonic() + 30
    while time.monotonic() < until:
        left = []
        for number in numbers:
            try:
                state = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            left += [number] if state != "Z" else []
        if not left:
            return True
        time.sleep(0.1)
    return False


# -- batches, without Dask ---------------------------------------------------------------------------------------------


def work(tmp_path: Path, points: int, **given: int) -> Work:
    kind = kind_named("sleeping")
    study = Study.load(write(tmp_path, points, seconds=0, **given))
    (tmp_path / "run").mkdir(exist_ok=True)
    tasks = tuple((Task(i, "sleeping", p), key(kind, p)) for i, p in enumerate(study.points))
    return Work(tasks, str(tmp_path / "run" / "0.jsonl"), str(tmp_path))


def test_a_batch_goes_on_where_a_worker_was_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    given = work(tmp_path, 6)
    first = carry_out(Work(given.tasks[:3], given.file, given.folder))
    with open(given.file, "a") as file:
        file.write('{"begin": "half a li')
    done = carry_out(given)
    assert [d.results for d in done] == [{"square": n * n} for n in range(6)]
    assert done[:3] == first
    assert computed(tmp_path) == once(6)
    # The results were taken, and the worker that had them died afterwards.
    spool.take(Path(given.file))
    assert carry_out(given) == []
    assert computed(tmp_path) == once(6)


def test_a_point_that_kills_workers_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    given = work(tmp_path, 3)
    for _ in range(batch.DEATHS):
        spool.begin(Path(given.file), given.tasks[1][1])
    assert [d.error for d in carry_out(given)] == [None, "3 workers ended while they computed it", None]
    assert computed(tmp_path) == Counter({0: 1, 2: 1})


def test_workers_of_another_version_compute_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    given = work(tmp_path, 2)
    monkeypatch.setattr(isthmus, "__version__", "0.0.1")
    assert [d.error for d in carry_out(given)] == [
        "a worker has another version of Isthmus, or of a file of the study"
    ] * 2
    assert not (tmp_path / "trail").exists()


def test_workers_that_do_not_see_the_folder_compute_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    given = work(tmp_path, 2)
    done = carry_out(Work(given.tasks, "/nowhere/0.jsonl", "/nowhere"))
    assert [d.results for d in done] == [{"square": 0}, {"square": 1}]


def test_what_earlier_runs_left_is_collected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    given = work(tmp_path, 4)
    out = tmp_path / "out"
    out.mkdir()
    left, held = spool.Spool(out), spool.Spool(out)
    carry_out(Work(given.tasks[:2], str(left.path / "7.jsonl"), given.folder))
    # A point of a version that is gone, and the last words of a worker.
    line = {**json.loads((left.path / "7.jsonl").read_text().splitlines()[-1]), "key": "0" * 64}
    (left.path / "8.jsonl").write_text(json.dumps(line) + '\n{"key": "')
    left.close()
    assert left.path.exists()
    with Ledger(out / "ledger.sqlite") as ledger:
        spool.collect(out, "sleeping", ledger)
        assert len(ledger) == 2
    assert not left.path.exists()
    held.close()
    assert not (out / "under-way").exists()
    outcome = isthmus.study(write(tmp_path, 4, seconds=0), out, backend=backend.Serial())
    assert outcome.computed == 2
    assert computed(tmp_path) == once(4)


# -- with Dask ---------------------------------------------------------------------------------------------------------


def test_a_worker_that_is_killed_loses_nothing(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    points = 120
    file = write(tmp_path, points)

    def kill() -> None:
        wait_for(tmp_path, 20)
        os.kill(min(workers_of(tmp_path)), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    outcome = isthmus.study(file, tmp_path / "out", on="local", workers=2)
    killer.join()
    assert outcome.computed == points
    assert not outcome.failures
    assert computed(tmp_path) == once(points)
    assert not (tmp_path / "out" / "under-way").exists()
    (tmp_path / "trail").unlink()
    assert outcome.rows == isthmus.study(file, tmp_path / "serial", backend=backend.Serial()).rows


def test_a_scheduler_that_is_killed_loses_nothing(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    points = 200
    file = write(tmp_path, points)
    engines: list[int] = []

    def kill() -> None:
        wait_for(tmp_path, 20)
        for number in processes("isthmus.studies.engine"):
            parent = int(Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[1])
            if parent == os.getpid():
                engines.append(number)
                os.kill(number, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.raises(ConnectionError, match="local: the scheduler of Dask has ended; run again to continue"):
        isthmus.study(file, tmp_path / "out", on="local", workers=1)
    killer.join()
    assert len(engines) == 1
    # Its workers leave by themselves.
    assert gone(workers_of(tmp_path))
    outcome = isthmus.study(file, tmp_path / "out", workers=2)
    assert 0 < outcome.computed < points
    assert not outcome.failures
    assert computed(tmp_path) == once(points)


def command(file: str, out: Path, *more: str) -> list[str]:
    return [sys.executable, "-m", "isthmus", "study", "run", file, "-o", str(out), *more]


def client_killed(tmp_path: Path) -> None:
    file = write(tmp_path, 150)
    process = subprocess.Popen(command(file, tmp_path / "out", "--on", "local", "--workers", "2"), stderr=-3, stdout=-3)
    wait_for(tmp_path, 30)
    process.kill()
    process.wait()
    assert gone(workers_of(tmp_path))
    outcome = isthmus.study(file, tmp_path / "out", workers=2)
    assert 0 < outcome.computed <= 121
    assert computed(tmp_path) == once(150)


def interrupted(tmp_path: Path) -> None:
    file = write(tmp_path, 40, seconds=0.5)
    process = subprocess.Popen(
        command(file, tmp_path / "out", "--on", "local", "--workers", "2"), stderr=subprocess.PIPE, text=True, stdout=-3
    )
    wait_for(tmp_path, 4)
    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=20)
    assert time.monotonic() - begin < 2
    assert process.returncode == 130
    assert "interrupted" in said
    assert "Traceback" not in said
    assert gone(workers_of(tmp_path))
    assert isthmus.study(file, tmp_path / "out", workers=4).computed < 40
    assert computed(tmp_path) == once(40)


def poisoned(tmp_path: Path) -> None:
    file = write(tmp_path, 40, poison=17)
    outcome = isthmus.study(file, tmp_path / "out", on="local", workers=2)
    assert [(e.inputs["number"], e.error) for e in outcome.failures] == [(17, "3 workers ended while they computed it")]
    assert computed(tmp_path) == Counter({n: 1 for n in range(40) if n != 17})


def scheduler_that_is_there(tmp_path: Path) -> None:
    """Workers of a scheduler of its own, that do not see the folder: it is elsewhere for them."""
    address = tmp_path / "scheduler.json"
    words = ["--scheduler-file", str(address)]
    started = [
        subprocess.Popen([sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0", *words],
                         stderr=-3),
        subprocess.Popen([sys.executable, "-m", "distributed.cli.dask_worker", "--nworkers", "2", "--nthreads", "1",
                          "--local-directory", str(tmp_path), *words], stderr=-3),
    ]  # fmt: skip
    try:
        until = time.monotonic() + 60
        while not address.exists() and time.monotonic() < until:
            time.sleep(0.1)
        on = json.loads(address.read_text())["address"]
        outcome = isthmus.study(write(tmp_path, 60), tmp_path / "out", on=on)
        assert not outcome.failures
        assert computed(tmp_path) == once(60)

        def kill() -> None:
            wait_for(tmp_path, 80)
            started[0].kill()

        killer = threading.Thread(target=kill)
        killer.start()
        with pytest.raises(ConnectionError, match="the scheduler of Dask is gone; run again to continue"):
            isthmus.study(write(tmp_path, 200), tmp_path / "out", on=on)
        killer.join()
    finally:
        for process in started:
            process.kill()
            process.wait()
    isthmus.study(write(tmp_path, 200), tmp_path / "out", workers=2)
    assert computed(tmp_path) == once(200)


def batch_queue(tmp_path: Path, queue: str, submit: str, cancel: str, said: str, walltime: str, header: str) -> None:
    """Commands of a scheduler that run a job at once, as it would be run on a node; LSF's gets it on standard input."""
    tools, jobs = tmp_path / "bin", tmp_path / "jobs"
    tools.mkdir()
    jobs.mkdir()
    (tools / submit).write_text(
        f'#!/bin/bash\nn=$(ls {jobs} | wc -l)\ncat "${{1:-/dev/stdin}}" >{jobs}/$n.sh\n'
        f"setsid bash {jobs}/$n.sh >{tmp_path}/job$n 2>&1 </dev/null &\n"
        f'echo $! >{tmp_path}/pid$n\necho "{said}"\n'
    )
    (tools / cancel).write_text(
        f'#!/bin/bash\nfor n in "$@"; do echo $n >>{tmp_path}/cancelled; kill -- -$(cat {tmp_path}/pid$n); done\n'
    )
    for tool in tools.iterdir():
        tool.chmod(0o755)
    os.environ["PATH"] = f"{tools}:{os.environ['PATH']}"
    try:
        outcome = isthmus.study(
            write(tmp_path, 60),
            tmp_path / "out",
            workers=2,
            on=f"{queue}:cores=1,memory=1GB,walltime={walltime},queue=short",
        )
    finally:
        os.environ["PATH"] = os.environ["PATH"].partition(":")[2]
    assert not outcome.failures
    assert computed(tmp_path) == once(60)
    scripts = [job.read_text() for job in jobs.iterdir()]
    assert scripts
    assert all(line in text for text in scripts for line in header.split("|"))
    assert gone(workers_of(tmp_path))
    assert (tmp_path / "cancelled").read_text().split()


def slurm(tmp_path: Path) -> None:
    header = "#SBATCH -p short|#SBATCH -t 00:10:00"
    batch_queue(tmp_path, "slurm", "sbatch", "scancel", "Submitted batch job $n", "00:10:00", header)


def pbs(tmp_path: Path) -> None:
    header = "#PBS -q short|#PBS -l walltime=00:10:00|#PBS -l select=1:ncpus=1"
    batch_queue(tmp_path, "pbs", "qsub", "qdel", "$n.server", "00:10:00", header)


def lsf(tmp_path: Path) -> None:
    header = "#BSUB -q short|#BSUB -W 00:10|#BSUB -n 1"
    batch_queue(tmp_path, "lsf", "bsub", "bkill", "Job <$n> is submitted to queue <short>.", "00:10", header)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("ending", [client_killed, interrupted, poisoned, scheduler_that_is_there, slurm, pbs, lsf])
def test_endings(ending: object, tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    assert callable(ending)
    ending(tmp_path)


# -- what is refused, and the page -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--on", "moab"], "moab: must be local, slurm, pbs, lsf or tcp://HOST:PORT"),
        (["--on", "slurm"], "slurm: give the number of workers to ask the queue for (--workers)"),
        (["--on", "pbs:cores", "--workers", "2"], "pbs:cores: cores: must be OPTION=VALUE, as of dask-jobqueue"),
        (["--on", "tcp://localhost:1", "--workers", "2"], "workers = 2: tcp://localhost:1 has its own"),
    ],
)
def test_refusals(words: list[str], said: str, tmp_path: Path) -> None:
    given = ["study", "run", write(tmp_path, 2), "-o", str(tmp_path / "out"), *words]
    result = CliRunner().invoke(cli, given)
    assert isinstance(result.exception, InvalidInput)
    assert str(result.exception) == said


def test_packages_that_are_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(Unsupported, match=r"workers of Dask need the package distributed, .* 'isthmus\[cluster\]'"):
        isthmus.study(write(tmp_path, 2), tmp_path / "out", on="local")
    with pytest.raises(InvalidInput, match="on and backend: give one of them"):
        isthmus.study(write(tmp_path, 2), tmp_path / "out", on="local", backend=backend.Serial())


def test_page_of_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = Study.load(write(tmp_path, 10))
    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    live = Live(str(tmp_path), study, 10, 4)
    live.add(Done(4, {"square": 16}, None, 0.5, "first"), study.points[4])
    page = tmp_path / "progress.html"
    assert not page.exists()
    clock[0] = 2.0
    live.add(Done(5, None, "<no>", 1.5, "second"), study.points[5])
    text = page.read_text()
    assert '<meta http-equiv="refresh" content="2">' in text
    assert "6 of 10" in text
    assert "1.0 points/s" in text
    assert "about 4 s" in text
    assert "&lt;no&gt;" in text
    assert '<td class="w">second</td><td class="n">1</td><td class="n">1.5</td><td class="n">0.75</td>' in text
    live.close()
    assert "The run has ended before all points were done." in page.read_text()
    assert "refresh" not in page.read_text()
