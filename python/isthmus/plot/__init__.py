"""Pictures of interconnects: their parts, their cables, and what a route or a load looks like."""

from __future__ import annotations

from .topology import plot_distance_histogram, plot_topology

__all__ = ["plot_distance_histogram", "plot_topology"]
