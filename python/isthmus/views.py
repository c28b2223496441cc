"""Finds the views of nouns by name: pictures, text, files. A noun does not import who draws or writes it; it asks here.

A method such as ``Timeline.plot`` has its signature and its documentation in its class and its code in a view, a
function whose first argument is the noun. So nouns stay below their views, which know them, and none of these is
imported before it is used. A new view is one line in this table and one method.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

#: Class and method -> module and function.
VIEWS = {
    "Advice.__str__": "advice.output.text:page",
    "Advice.frame": "advice.output.as_json:machine_rows",
    "Advice.html": "advice.output.html.page:html",
    "Advice.json": "advice.output.as_json:plain",
    "Advice.save": "advice.output.html.page:save",
    "Comparison.save": "comparison.page:save",
    "DecisionTable.load": "tuning.table_file:read",
    "DecisionTable.save": "tuning.table_file:write",
    "Hierarchy.load": "multigrid.reading:read_hierarchy",
    "Hierarchy.plot": "plot.multigrid:plot_hierarchy",
    "Hierarchy.save": "multigrid.hdf5:write_hierarchy",
    "Machine.__str__": "machine.text:report",
    "Machine.frame": "machine.text:rows",
    "Machine.html": "comparison.machine_page:html",
    "Machine.plot": "plot.machine_curves:plot_machine",
    "Mapped.__str__": "mapping.text:report",
    "Mapped.plot": "plot.placement:plot_mapped",
    "Measurement.__str__": "measuring.text:report",
    "Overlap.plot": "plot.overlap:draw_overlap",
    "Pattern.read": "imports.graphs.metis:read_metis",
    "Profile.__str__": "recording.profile_text:report",
    "Program.save": "schedule.hdf5:write_program",
    "Queued.plot": "plot.queueing:plot_queued",
    "Variation.plot": "plot.queueing:plot_variation",
    "Variation.save": "comparison.variation_page:save",
    "Scenarios.plot": "plot.multigrid:plot_scenarios",
    "Schedule.save": "schedule.hdf5:write_schedule",
    "SizeComparison.save": "comparison.sizes_page:save",
    "Study.load": "studies.reading:load",
    "Timeline.__str__": "simulation.text:report",
    "Timeline.plot": "plot.timeline:plot_timeline",
    "Timeline.plot_breakdown": "plot.breakdown:plot_breakdown",
    "Timeline.save": "simulation.hdf5:write_timeline",
    "Timeline.save_chrome": "simulation.chrome:write_chrome",
    "Traffic.plot": "plot.traffic:plot_traffic",
    "Tuning.__str__": "tuning.text:report",
    "Tuning.plot": "plot.tuning:draw_times",
    "Tuning.plot_map": "plot.tuning:draw_map",
}


def view(name: str) -> Callable[..., Any]:
    """The function that makes a noun into something, such as ``view("Timeline.plot")``.

    Examples
    --------
    >>> import isthmus
    >>> text = view("Machine.__str__")(isthmus.load("ring-16"))
    >>> text == str(isthmus.load("ring-16"))
    True
    """
    module, _, function = VIEWS[name].partition(":")
    found: Callable[..., Any] = getattr(import_module(f".{module}", __package__), function)
    return found
