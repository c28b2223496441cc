"""isthmus completion, and what completes the names of machines, collectives and examples."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

import click
from click.shell_completion import CompletionItem, get_completion_class

from ..errors import InvalidInput

_SHELLS = ("bash", "zsh", "fish")


@click.command(
    "completion",
    epilog="\b\nExamples:\n  isthmus completion bash\n  isthmus completion fish",
    help="Print the script with which a shell completes commands, options, machines, collectives, algorithms and "
    "examples. SHELL is bash, zsh or fish; by default that of $SHELL.\n\n"
    "To enable it in every new shell, add this line to ~/.bashrc, or to ~/.zshrc after compinit:\n\n"
    '\b\n  eval "$(isthmus completion bash)"\n\n'
    "\b\nand to ~/.config/fish/config.fish:\n\n\b\n  isthmus completion fish | source",
)
@click.argument("shell", required=False, type=click.Choice(_SHELLS))
def command(shell: str | None) -> None:
    name = shell or os.path.basename(os.environ.get("SHELL", ""))
    if name not in _SHELLS:
        raise InvalidInput(f"completion for {name or 'no shell'}: must be one of {', '.join(_SHELLS)}")
    script = get_completion_class(name)
    assert script is not None
    click.echo(script(click.get_current_context().find_root().command, {}, "isthmus", "_ISTHMUS_COMPLETE").source())


def complete_names(command: click.Command) -> None:
    """Make the parameters of a command, and of those within it, complete what they name."""
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            if (inner := command.get_command(click.Context(command), name)) is not None:
                complete_names(inner)
    for parameter in command.params:
        for words, offer in _OFFERS.items():
            named = (parameter.metavar, parameter.opts[0], f"{command.name} {parameter.opts[0].lstrip('-')}")
            if not set(words).isdisjoint(named):
                parameter._custom_shell_complete = _completer(offer)


def _completer(
    offer: Callable[[], Iterable[str]],
) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem]]:
    def complete(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
        items = [CompletionItem(name) for name in offer() if name.startswith(typed)]
        # The shell itself knows files.
        return items + [CompletionItem(typed, type="file")] * (_takes_files(parameter) and (not items or "/" in typed))

    return complete


def _takes_files(parameter: click.Parameter) -> bool:
    return "FILE" in (parameter.metavar or "") or parameter.metavar == "MACHINE" or parameter.metavar == "TABLE"


def _machines() -> Iterable[str]:
    from ..gallery import machines
    from ..machine.kinds import KINDS

    return [*machines(), *(f"{name}:" for name in KINDS)]


def _kinds() -> list[str]:
    from ..schedule.program import CollectiveKind

    return [kind.name for kind in CollectiveKind]


def _algorithms() -> list[str]:
    from ..collectives import algorithms

    return sorted({name for kind in _kinds() for name in algorithms(kind)})


def _examples() -> Iterable[str]:
    from ..gallery import programs

    return [*programs(), *_skeletons()]


def _skeletons() -> Iterable[str]:
    from ..skeletons import SKELETONS

    return [f"{name}:" for name in SKELETONS]


def _formats() -> Iterable[str]:
    from ..mapping.launch import formats

    return [format.name for format in formats()]


def _methods() -> Iterable[str]:
    from ..mapping.methods import methods

    return ["auto", *methods()]


#: What parameters are completed by, by their metavar or "command option".
_OFFERS: dict[tuple[str, ...], Callable[[], Iterable[str]]] = {
    ("MACHINE",): _machines,
    ("COLLECTIVE...", "KIND"): _kinds,
    ("KIND:ranks=N,...", "simulate file"): lambda: [f"{kind}:" for kind in _kinds()],
    ("prove algorithm", "search algorithm"): _algorithms,
    ("--example",): _examples,
    ("show skeleton",): _skeletons,
    ("map format",): _formats,
    ("map method",): _methods,
    ("ORDER|FILE",): lambda: ["block", "cyclic"],
}
