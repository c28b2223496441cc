"""The names of the parts of time in everything that people read; DESIGN.md lists the words that outputs share."""

from __future__ import annotations

#: Where the time of a rank goes, by the names of ``Timeline.breakdown``.
WORDS = {
    "compute": "computation",
    "send_overhead": "send overhead (o, O)",
    "recv_overhead": "receive overhead (o, O, G)",
    "gap": "bandwidth (g, G)",
    "latency": "latency (L)",
    "late_sender": "waiting for late senders",
    "late_receiver": "waiting for late receivers",
    "noise": "noise",
    "contention": "contention (shared links)",
    "idle": "idle",
}
