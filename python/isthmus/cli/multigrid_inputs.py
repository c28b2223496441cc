"""What the commands of isthmus multigrid read: hierarchies, costs, levels to gather."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import click

from ..errors import InvalidInput

if TYPE_CHECKING:
    from ..machine import Machine
    from ..multigrid import Costs, Hierarchy


def read_hierarchy(path: str) -> Hierarchy:
    """The hierarchy of a file."""
    from ..multigrid import Hierarchy

    return Hierarchy.load(path)


def named_numbers(option: str, pairs: tuple[str, ...], form: str) -> dict[str, float]:
    """What an option gives as NAME=NUMBER; ``form`` says what is expected."""
    out = {}
    for one in pairs:
        key, _, value = one.partition("=")
        try:
            out[key] = float(value)
        except ValueError:
            raise InvalidInput(f"{option} {one}: expected {form}") from None
    return out


def named_costs(pairs: tuple[str, ...]) -> dict[str, float]:
    """What --cost gives."""
    return named_numbers("--cost", pairs, "NAME=NUMBER in SI units, such as flop=0.5e-9")


class Paid(NamedTuple):
    """A machine and its costs, with those that are given."""

    machine: Machine
    costs: Costs
    per_node: int
    estimated: bool

    def tell(self) -> None:
        """Say where the time of a floating-point operation is estimated."""
        if self.estimated:
            click.echo(
                f"\nThe time of a floating-point operation, {self.costs.flop:.3g} s, is estimated from the memory "
                "bandwidth of a node; --cost flop= gives what was measured."
            )


def paid_costs(machine: str, ranks_per_node: int | None, cost: tuple[str, ...], parts: int) -> Paid:
    """The costs of a machine for so many ranks; its time of an operation is estimated where it is not known."""
    from ..loading import load
    from ..multigrid import Costs

    found = load(machine)
    per_node = ranks_per_node or found.node.cores
    given = named_costs(cost)
    known = Costs.of(found, nodes=-(-parts // per_node), **given)
    paid = known if "flop" in given else known.with_flop_of(found, per_node)
    return Paid(found, paid, per_node, paid is not known)


def given_switches(gather: tuple[str, ...]) -> dict[int, int] | None:
    """Levels and ranks that are given, or None where the model decides."""
    if gather == ("model",):
        return None
    out: dict[int, int] = {}
    for one in gather:
        level, _, parts = one.partition("=")
        if not (level.isdecimal() and parts.isdecimal()):
            raise InvalidInput(f"--gather {one}: expected LEVEL=N such as 2=16, or model alone")
        if int(level) in out:
            raise InvalidInput(f"--gather {one}: level {level} is given twice")
        out[int(level)] = int(parts)
    return out
