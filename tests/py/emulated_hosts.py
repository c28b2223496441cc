"""Hosts with a network between them, all on one machine: network namespaces around a bridge, with shaped links.

Messages between them take time that no processor spends, as shared memory never shows, and their rate is known. Every
link has a rate of its own in each direction. Needs root and iproute2; :func:`obstacle` says what is missing.

The token bucket lets its bytes pass at once after a pause, as no wire does: messages below it say nothing. 8k holds the
rate at 200 Mbit/s, 1 Gbit/s needs 64k. With a peak rate a second bucket, of one packet, holds what the first lets pass
to that rate, so that all messages take about as long as on a wire, whatever was sent before. The kernel lets a packet
pass some 12 us late: where the peak rate is too low to make up for that, the rate is not held.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

SUBNET = "10.78.0"
#: Those that end a program: its hosts go first.
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
#: Bytes of a message that fit into a packet of Ethernet, and what that takes of the rate: frame, IP and TCP with its
#: time stamps are 66 bytes, which the kernel's shaper counts.
PAYLOAD, PACKET = 1448, 1514

#: Rate out of a host and rate into it.
Rates = str | tuple[str, str]


def obstacle(*tools: str) -> str:
    """What keeps hosts from being made here; nothing where they can be.

    Parameters
    ----------
    *tools : str
        More programs that are needed, such as ``"mpirun.openmpi"``.
    """
    if os.geteuid() != 0:
        return "needs root"
    if absent := [tool for tool in ("ip", "tc", "unshare", *tools) if shutil.which(tool) is None]:
        return f"needs {', '.join(absent)}"
    for kind in ("--net", "--uts"):
        if subprocess.run(["unshare", kind, "true"], capture_output=True).returncode:
            return f"'unshare {kind}' is not permitted"
    return ""


def seconds_per_byte(rate: str) -> float:
    """What a rate such as ``"200mbit"`` leaves for the bytes of long messages: framing counted."""
    match = re.fullmatch(r"([0-9.]+)(k|m|g)bit", rate)
    assert match is not None, rate
    bits = float(match[1]) * {"k": 1e3, "m": 1e6, "g": 1e9}[match[2]]
    return 8 * PACKET / PAYLOAD / bits


@dataclass(frozen=True)
class Hosts:
    """Hosts that are there.

    Parameters
    ----------
    names : tuple of str
        Their names, by which they find each other.
    folder : Path
        Where the programs lie that stand for ssh; removed with the hosts.
    """

    names: tuple[str, ...]
    folder: Path = field(repr=False)

    def inside(self, host: int = 0) -> list[str]:
        """What runs the command after it on a host, under its name."""
        name = self.names[host]
        return ["ip", "netns", "exec", name, "unshare", "--uts", "sh", "-c", f'hostname {name}; exec "$@"', "-"]

    def openmpi(self, per_host: int = 1) -> list[str]:
        """mpirun of Open MPI 4 on the first host, with ranks on all: those of a host follow each other.

        Ranks of a host use shared memory. They are not bound, as every host sees the same cores.
        """
        mca = {
            "plm_rsh_agent": str(self._agent()),
            "btl": "tcp,self" if per_host == 1 else "tcp,self,vader",
            "btl_tcp_if_include": f"{SUBNET}.0/24",
            "oob_tcp_if_include": f"{SUBNET}.0/24",
            # Connections are made in MPI_Init; else they are made by the first messages, which then take 10 ms.
            "mpi_preconnect_mpi": "1",
            "rmaps_base_oversubscribe": "1",
        }
        words = ["mpirun.openmpi", "-n", str(per_host * len(self.names)), "--host"]
        words += [",".join(f"{name}:{per_host}" for name in self.names), "--map-by", "slot", "--bind-to", "none"]
        for name, value in mca.items():
            words += ["--mca", name, value]
        return words

    def mpich(self, per_host: int = 1) -> list[str]:
        """mpiexec of Debian's MPICH on the first host, with ranks on all: those of a host follow each other.

        UCX would take all these hosts for one, as they have one kernel: it may use TCP alone. Where each has one rank,
        none is taken for local; ranks of one host use shared memory otherwise.
        """
        variables = {"UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "eth0", "FI_PROVIDER": "tcp"}
        variables["MPIR_CVAR_CH4_SHM_POSIX_EAGER"] = "iqueue"
        if per_host == 1:
            variables["MPIR_CVAR_NOLOCAL"] = "1"
        words = ["mpiexec.mpich", "-launcher", "ssh", "-launcher-exec", str(self._agent()), "-iface", "eth0"]
        for name, value in variables.items():
            words += ["-genv", name, value]
        hosts = ",".join(self.names)
        return [*words, "-hosts", hosts, "-ppn", str(per_host), "-n", str(per_host * len(self.names))]

    def _agent(self) -> Path:
        """What launchers call in place of ssh: options, host, command."""
        path = self.folder / "agent"
        path.write_text(
            "#!/bin/sh\n"
            'while [ "${1#-}" != "$1" ]; do shift; done\nhost=$1; shift\n'
            'exec ip netns exec "$host" unshare --uts sh -c \'hostname "$0"; exec sh -c "$*"\' "$host" "$@"\n'
        )
        path.chmod(0o755)
        return path


@contextlib.contextmanager
def hosts(
    count: int, rates: Rates | Sequence[Rates] = "200mbit", burst: str = "8k", mtu: int = 1500, peak: str | None = None
) -> Iterator[Hosts]:
    """Make hosts, and remove them and whatever runs on them at the end, also where a signal ends the program.

    Parameters
    ----------
    count : int
    rates : str, pair of str, or sequence of these
        Of the links of all hosts, or of each: ``"200mbit"``, or out of the host and into it.
    burst : str
        Bytes that pass at once after a pause.
    mtu : int
        Bytes of a packet without its frame. Packets of 1,500 bytes take up to half of the processors at 200 Mbit/s,
        those of 9,000 hardly any.
    peak : str, optional
        Rate at which the burst passes; without it, it passes at once. 280mbit holds 200mbit with a burst of 4k.
    """
    _remove_orphans()
    each = list(rates) if isinstance(rates, Sequence) and not isinstance(rates, (str, tuple)) else [rates] * count
    tag = f"ism{os.getpid()}"
    names, switch = tuple(f"{tag}h{i}" for i in range(count)), f"{tag}sw"
    with _ended_by_signals(), tempfile.TemporaryDirectory(prefix="hosts-") as folder:
        os.chmod(folder, 0o755)
        try:
            _make(names, switch, [rate if isinstance(rate, tuple) else (rate, rate) for rate in each], burst, mtu, peak)
            yield Hosts(names, Path(folder))
        finally:
            for number in SIGNALS:
                with contextlib.suppress(ValueError):
                    signal.signal(number, signal.SIG_IGN)
            for name in (*names, switch):
                _remove(name)


def _make(
    names: Sequence[str], switch: str, rates: Sequence[tuple[str, str]], burst: str, mtu: int, peak: str | None
) -> None:
    table = "127.0.0.1 localhost\n" + "".join(f"{SUBNET}.{i + 1} {name}\n" for i, name in enumerate(names))
    _do("ip", "netns", "add", switch)
    _do("ip", "-n", switch, "link", "add", "bridge", "type", "bridge")
    _do("ip", "-n", switch, "link", "set", "bridge", "up")
    for i, (name, (out, into)) in enumerate(zip(names, rates, strict=True)):
        port = f"p{i}"
        _do("ip", "netns", "add", name)
        _do("ip", "link", "add", "eth0", "netns", name, "type", "veth", "peer", "name", port, "netns", switch)
        for space, device in ((name, "eth0"), (switch, port)):
            _do("ip", "-n", space, "link", "set", device, "mtu", str(mtu))
        _do("ip", "-n", switch, "link", "set", port, "master", "bridge", "up")
        _do("ip", "-n", name, "addr", "add", f"{SUBNET}.{i + 1}/24", "dev", "eth0")
        for device in ("eth0", "lo"):
            _do("ip", "-n", name, "link", "set", device, "up")
        for space, device, rate in ((name, "eth0", out), (switch, port, into)):
            shape = ["rate", rate, "burst", burst, "latency", "50ms"]
            shape += ["peakrate", peak, "minburst", str(mtu + 14)] if peak else []
            _do("tc", "-n", space, "qdisc", "add", "dev", device, "root", "tbf", *shape)
        # BBR loses much of the rate whenever a host changes its partner.
        reno = ["sysctl", "-qw", "net.ipv4.tcp_congestion_control=reno"]
        subprocess.run(["ip", "netns", "exec", name, *reno], check=False, capture_output=True)
        folder = Path("/etc/netns", name)
        folder.mkdir(parents=True)
        (folder / "hosts").write_text(table)


def _remove(name: str) -> None:
    """Ranks that are still running would keep their host alive without its name."""
    left = subprocess.run(["ip", "netns", "pids", name], check=False, capture_output=True, text=True).stdout
    for process in left.split():
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(process), signal.SIGKILL)
    subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)
    (Path("/etc/netns", name) / "hosts").unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        Path("/etc/netns", name).rmdir()


def _remove_orphans() -> None:
    """Hosts of programs that were killed before they could remove them."""
    listed = subprocess.run(["ip", "netns", "list"], check=False, capture_output=True, text=True).stdout
    for line in listed.splitlines():
        match = re.match(r"(ism([0-9]+)(h[0-9]+|sw))\b", line)
        if match and not Path("/proc", match[2]).exists():
            _remove(match[1])


@contextlib.contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Signals that would kill the program raise SystemExit meanwhile."""

    def end(number: int, _: FrameType | None) -> None:
        raise SystemExit(128 + number)

    old = {}
    with contextlib.suppress(ValueError):  # not in the main thread
        for number in SIGNALS:
            old[number] = signal.signal(number, end)
    try:
        yield
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)


def _do(*words: str) -> None:
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    if done.returncode:
        raise OSError(f"{' '.join(words)}: {done.stderr.strip()}")
