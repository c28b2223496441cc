"""Descriptions of machines that other tools write, read into the TOML form.

- ``formats``: descriptions of machines that other tools write, read into the TOML form
- ``fragment``: the TOML-form dictionaries that importers return
- ``hwloc``: hwloc XML (``lstopo file.xml``) of version 1, 2 and 3: the structure of one node
- ``hwloc_cpu``: sockets, NUMA domains and cores of an hwloc file
- ``hwloc_devices``: NICs and GPUs of an hwloc file
- ``ibnet``: output of ibnetdiscover: every switch, channel adapter and cable of an InfiniBand subnet
- ``ibnet_graph``: the graph of an InfiniBand subnet from the records of its devices
- ``nccl``: NCCL topology XML (NCCL_TOPO_FILE, NCCL_TOPO_DUMP_FILE): GPUs, NICs and NVLink of one node
- ``slurm``: Slurm topology.conf: topology/tree and topology/block
- ``slurm_graph``: checks of Slurm switch and block records, and the graphs they become
- ``slurm_yaml``: Slurm topology.yaml: several named topologies of kind tree, block or flat
- ``xml_tree``: A small, safe XML reader that keeps line numbers
"""
