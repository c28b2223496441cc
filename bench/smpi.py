"""SMPI of SimGrid (Debian: libsimgrid-dev) as a peer of bench/network.py: one collective on one platform.

Platforms have hosts of 10 Gflop/s and split-duplex links of 10 GB/s and 100 ns, as the machines of bench/network.py
have. Without settings SMPI has factors of bandwidth and latency and cross traffic; PLAIN has none of them, and begins a
transfer when its receive is posted. With EAGER messages start and share as here. tests/proof/sharing.py compares the
sharing itself.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent

# No factors, no window, no traffic of acknowledgements. A transfer begins when its receive is posted too, though
# senders of up to 64 KiB do not wait for it.
PLAIN = (
    "smpi/bw-factor:0:1", "smpi/lat-factor:0:1", "network/TCP-gamma:0", "network/crosstraffic:0", "network/weight-S:0",
)  # fmt: skip
# Messages up to 64 KiB are on their way when they are sent.
EAGER = (*PLAIN, "smpi/async-small-thresh:65536", "smpi/send-is-detached-thresh:65536")
# Senders wait until the transfer is over.
RENDEZVOUS = (*PLAIN, "smpi/send-is-detached-thresh:0")


@dataclass(frozen=True)
class Platform:
    """Topology and parameters as SimGrid's <cluster> takes them."""

    topology: str
    parameters: str
    hosts: int = 0  # 0: as many as ranks
    latency: str = "100ns"

    def xml(self, hosts: int) -> str:
        """The platform file."""
        return (
            "<?xml version='1.0'?>\n"
            '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n'
            '<platform version="4.1">\n'
            f'  <cluster id="cluster" topology="{self.topology}" topo_parameters="{self.parameters}" '
            f'prefix="n" suffix="" radical="0-{(self.hosts or hosts) - 1}" speed="10Gf" bw="10GBps" '
            f'lat="{self.latency}" sharing_policy="SPLITDUPLEX"/>\n'
            "</platform>\n"
        )


@dataclass(frozen=True)
class PeerRun:
    """User seconds, peak bytes and simulated seconds; ``simulated`` is None if it was ended at the limit."""

    user: float
    peak: int
    simulated: float | None


def missing() -> str | None:
    """What is not installed, in a sentence; None if all is there."""
    for tool in ("smpicc", "smpirun"):
        if shutil.which(tool) is None:
            return f"{tool} is not installed (Debian: apt-get install libsimgrid-dev)"
    return None


def build(folder: Path) -> Path:
    """The program that calls the collective."""
    program = folder / "collective"
    subprocess.run(["smpicc", "-O2", "-w", "-o", program, HERE / "collective.c"], check=True)
    return program


def run(
    program: Path,
    platform: Platform | str,
    ranks: int,
    collective: str,
    algorithm: str,
    size: int,
    limit: int,
    more: tuple[str, ...] = (),
) -> PeerRun:
    """Simulate once, for at most so many processor seconds.

    ``platform`` may be the text of a platform file, ``algorithm`` a selector such as "selector ompi"; ``more`` are
    further settings.

    Raises
    ------
    RuntimeError
        If it ended with an error, with its last words.
    """
    folder = program.parent
    text = platform if isinstance(platform, str) else platform.xml(ranks)
    (folder / "platform.xml").write_text(text, encoding="utf-8")
    (folder / "hosts").write_text("".join(f"n{i}\n" for i in range(ranks)), encoding="utf-8")
    words = ["smpirun", "-platform", "platform.xml", "-hostfile", "hosts", "-np", str(ranks)]
    options = ["smpi/simulate-computation:no", "smpi/host-speed:1Gf", *more]
    chosen = algorithm.removeprefix("selector ")
    options.append(f"smpi/coll-selector:{chosen}" if chosen != algorithm else f"smpi/{collective}:{algorithm}")
    words += [f"--cfg={option}" for option in options] + [str(program), collective, str(size)]
    command = f"ulimit -t {limit}; exec " + " ".join(words)
    with open(folder / "out", "w+") as out, open(folder / "err", "w+") as err:
        process = subprocess.Popen(["bash", "-c", command], cwd=folder, stdout=out, stderr=err)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        text, words_of_error = out.read(), err.read()
    # smpirun itself may say something too.
    found = re.search(r"^simulated (\S+)$", text, re.MULTILINE)
    simulated = float(found[1]) if found else None
    if simulated is None and usage.ru_utime + usage.ru_stime < 0.95 * limit:
        raise RuntimeError(f"smpirun ended with {process.returncode}: {words_of_error.strip()[-500:]}")
    return PeerRun(usage.ru_utime, usage.ru_maxrss * 1024, simulated)
