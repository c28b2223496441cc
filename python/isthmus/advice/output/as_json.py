"""Advice as plain numbers, for programs."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

from ...machine.spec import spec_or_name
from ...tuning.table_file import content
from ..analysis.numbers_used import quality, sourced

if TYPE_CHECKING:
    from ..advice import Advice, Prediction
    from ..analysis.links import NetworkUse
    from ..analysis.remapping import Placing
    from ..collectives.comparison import Choices


def plain(advice: Advice) -> dict[str, Any]:
    """Everything in SI units; nothing that JSON does not know."""
    return {
        "noun": "advice",
        "name": advice.name,
        "ranks": advice.ranks,
        "scale_compute": advice.scale_compute,
        "simulations": advice.simulations,
        "model": advice.model,
        "routing": advice.routing,
        "sentences": [dataclasses.asdict(s) for s in advice.sentences],
        "bounds": [dataclasses.asdict(s) for s in advice.bounds],
        "notes": list(advice.notes),
        "machines": machine_rows(advice),
        "predictions": [_prediction(p) for p in advice.predictions],
    }


def _prediction(p: Prediction) -> dict[str, Any]:
    return {
        "machine": spec_or_name(p.machine.description),
        "nodes": len(p.placement.nodes),
        "ranks_per_node": p.placement.ranks_per_node,
        "time": p.time,
        "operations": p.operations,
        "messages": p.timeline.messages,
        "bytes": p.timeline.bytes,
        "losses": p.losses,
        "dominant": p.dominant,
        "efficiency": dataclasses.asdict(p.efficiency)
        | {"communication": p.efficiency.communication, "parallel": p.efficiency.parallel},
        "mean": p.mean,
        "path": p.path,
        "path_part": p.part,
        "path_beyond_mean": p.beyond,
        "what_ifs": [dataclasses.asdict(w) for w in p.what_ifs if not w.bound],
        "bounds": [dataclasses.asdict(w) for w in p.what_ifs if w.bound],
        "sensitivities": [_sensitivity(s) for s in p.sensitivities],
        "calls": [dataclasses.asdict(c) for c in p.calls],
        "pairs": [dataclasses.asdict(pair) for pair in p.pairs[:1000]],
        "sizes": [dataclasses.asdict(s) for s in p.sizes],
        "network": None if p.network is None else _network(p.network),
        "choices": None if p.choices is None else _choices(p.choices),
        "overlaps": [dataclasses.asdict(o) for o in p.overlaps],
        "settings": None if p.settings is None else _settings(p),
        "placing": None if p.placing is None else _placing(p.placing),
        "numbers": {"quality": quality(p.used), "used": [dataclasses.asdict(u) for u in p.used]},
    }


def _choices(found: Choices) -> dict[str, Any]:
    compared = [
        dataclasses.asdict(c.use)
        | {
            "now": str(c.now),
            "now_seconds": c.now_seconds,
            "best": None if c.best is None else str(c.best),
            "best_seconds": c.best_seconds,
            "bound": c.bound,
            "saving": c.saving,
            "taken": c.taken,
        }
        for c in found.compared
    ]
    return {
        "library": found.library.target,
        "given": found.given,
        "tuned": found.tuned,
        "before": found.before,
        "after": found.after,
        "excerpt": found.excerpt,
        "compared": compared,
        "table": None if found.table is None else content(found.table),
        "notes": list(found.notes),
    }


def _settings(p: Prediction) -> dict[str, Any]:
    found = p.settings
    assert found is not None
    q, memory = found.queues, found.memory
    by_rank = {
        name: value.tolist() for name, value in dataclasses.asdict(q).items() if name not in ("messages", "unexpected")
    }
    return {
        "library": found.library.target,
        "excerpt": found.excerpt,
        "messages": q.messages,
        "unexpected": q.unexpected,
        "by_rank": by_rank,
        "tried": [dataclasses.asdict(one) for one in found.tried],
        "better": [dataclasses.asdict(one) for one in found.better],
        "lower": None if found.lower is None else dataclasses.asdict(found.lower),
        "progress": None
        if found.progress is None
        else dataclasses.asdict(found.progress) | {"behind_computation": found.progress.behind_computation},
        "receive_buffers": {
            "bytes": found.buffer,
            "shared": found.shared_buffers,
            "by_peer": found.peer_buffers,
            "settings": [dataclasses.asdict(one) for one in found.buffer_settings],
        },
        "memory": None
        if memory is None
        else dataclasses.asdict(memory)
        | {"of_program": memory.of(p.timeline.ranks), "of_machine": memory.of(p.machine.cores)},
    }


def _placing(found: Placing) -> dict[str, Any]:
    mapped = found.mapped
    before, after = found.now.json(), mapped.metrics.json()
    return {
        "method": mapped.method,
        "before": before | {"time": found.before},
        "after": after | {"time": found.after},
        "at_least": {"hop_bytes": mapped.bounds.hop_bytes, "maximum_link_load": mapped.bounds.maximum_link_load},
        "node": mapped.placement.node.tolist(),
        "core": mapped.placement.core.tolist(),
    }


def _network(n: NetworkUse) -> dict[str, Any]:
    # asdict leaves named tuples as they are, of which JSON makes lists.
    hottest = [
        dataclasses.asdict(h) | {"hot": h.hot._asdict(), "streams": [s._asdict() for s in h.streams]} for h in n.hottest
    ]
    return dataclasses.asdict(n) | {"hottest": hottest}


def _sensitivity(s: Any) -> dict[str, Any]:
    return {
        "name": s.name,
        "level": s.level,
        "value": s.value if math.isfinite(s.value) else None,
        "curve": [{"factor": factor, "time": time} for factor, time in s.curve.items()],
        "ten_percent": s.ten_percent,
        "tolerance": [{"loss": loss, "factor": factor} for loss, factor in s.tolerance.items()],
        "refined": s.refined,
    }


def machine_rows(advice: Advice) -> list[dict[str, Any]]:
    """The comparison of machines in SI units."""
    first = advice.predictions[0]
    out = []
    for p in advice.predictions:
        e = p.efficiency
        out.append(
            {
                "machine": p.machine.name,
                "title": p.machine.title,
                "nodes": len(p.placement.nodes),
                "ranks_per_node": p.placement.ranks_per_node,
                "time": p.time,
                "ratio": p.time / first.time,
                "parallel_efficiency": e.parallel,
                "load_balance": e.load_balance,
                "serialisation": e.serialisation,
                "transfer": e.transfer,
                "dominant": p.dominant,
                "sourced": sourced(p.used),
                "numbers": quality(p.used),
            }
        )
    return out
