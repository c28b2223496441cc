"""Isthmus for Spack, from the checkout that holds this file: ``spack repo add packaging/spack``, then ``spack install
py-isthmus``. Tried with Spack 0.24 and 1.2."""

from pathlib import Path

from spack.package import *


class PyIsthmus(PythonPackage):
    """Predicts, explains and improves the communication of parallel programs on real interconnects."""

    git = Path(__file__).resolve().parents[4].as_uri()

    license("BSD-3-Clause")

    version("main", branch="main")

    variant("cluster", default=False, description="Studies on workers of Dask")
    variant("data", default=True, description="Data frames, graphs and sparse matrices")
    variant("multigrid", default=False, description="Hierarchies of PyAMG")
    variant("otf2", default=False, description="Traces in OTF2")
    variant("partition", default=False, description="Cuts of matrices by METIS")
    variant("plot", default=True, description="Pictures")
    variant("report", default=True, description="Reports in HTML")

    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("python@3.11:", type=("build", "link", "run"))
    depends_on("py-scikit-build-core@0.11:", type="build")
    depends_on("py-nanobind@2.4:", type="build")

    with default_args(type="run"):
        depends_on("py-numpy@1.26:")
        depends_on("py-click@8.1:")
        depends_on("py-rich@13:")
        depends_on("py-tomli-w@1.0:")
        depends_on("py-pyyaml@6:")
        depends_on("py-h5py@3.10:")
        depends_on("py-distributed@2025.1:", when="+cluster")
        depends_on("py-dask-jobqueue@0.9:", when="+cluster")
        depends_on("py-pandas@2:", when="+data")
        depends_on("py-networkx@3:", when="+data")
        depends_on("py-scipy@1.12:", when="+data")
        depends_on("py-pyamg@5:", when="+multigrid")
        depends_on("py-scipy@1.12:", when="+multigrid")
        depends_on("otf2@3.1:", when="+otf2")
        # Spack has no Python module of KaHIP: cuts by KaHIP need pip install kahip.
        depends_on("py-pymetis@2025.1:", when="+partition")
        depends_on("py-matplotlib@3.8:", when="+plot")
        depends_on("py-plotly@5.20:", when="+plot")
        depends_on("py-jinja2@3.1:", when="+report")
