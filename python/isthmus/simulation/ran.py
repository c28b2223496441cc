"""What is known of a run that was carried out and measured."""

from __future__ import annotations

from dataclasses import dataclass

from ..units import percent, text


@dataclass(frozen=True, kw_only=True)
class Ran:
    """How the times of a measured Timeline came about.

    Attributes
    ----------
    launch : str
        The launcher with its options.
    library, host : str
        The MPI library, and the host of rank 0.
    repetitions : int
        Number of runs in which nothing but the end was looked at, and of runs in which every operation was.
    typical, least, most : float
        Median, least and most of the times of the former, seconds. The Timeline shows that run of the latter whose time
        is nearest to their median.
    watched : float
        Median of the latter, seconds: what it costs to look at every operation is in it.
    late : float
        How much later than agreed the last rank began in the run that is shown, seconds.
    compute : float
        Factor of the computations.
    note : str
        What makes the times less certain.
    """

    launch: str
    library: str
    host: str
    repetitions: int
    typical: float
    least: float
    most: float
    watched: float
    late: float
    compute: float = 1.0
    note: str = ""

    def rows(self) -> list[tuple[str, str]]:
        """Return the lines of a report, as name and words."""
        times = "1 run" if self.repetitions == 1 else f"{self.repetitions:,} runs"
        spread = f"{text(self.typical, 's', 4)} at the median of {times}"
        if self.repetitions > 1:
            spread += f", {text(self.least, 's', 4)} to {text(self.most, 's', 4)}"
        extra = percent(self.watched / self.typical - 1, 1, sign=True) if self.typical > 0 else "+0 %"
        out = [
            ("measured", f"{self.launch}, {self.library}, on {self.host}"),
            ("times", spread),
            ("shown", f"the run nearest to it with times of every operation, which change the median by {extra}"),
        ]
        if self.compute != 1:
            out.append(("computation", f"{self.compute:g} times as long" if self.compute else "left out"))
        if self.note:
            out.append(("note", self.note))
        return out
