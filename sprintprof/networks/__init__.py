"""Networks: layers, shapes, counts, kernel calls."""

from sprintprof.networks.builtin import list_networks, load_network
from sprintprof.networks.network import INPUT, Layer, LayerCall, Network

__all__ = ["INPUT", "Layer", "LayerCall", "Network", "list_networks", "load_network"]
