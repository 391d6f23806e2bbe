"""Methods of distances: classical MDS, landmark MDS, Isomap and its relatives."""

from .classical_mds import ClassicalMDS
from .isomap import Isomap, LandmarkIsomap
from .kernel_isomap import KernelIsomap
from .landmark_mds import LandmarkMDS
from .ordinal_isomap import OrdinalIsomap

__all__ = ["ClassicalMDS", "Isomap", "KernelIsomap", "LandmarkIsomap", "LandmarkMDS", "OrdinalIsomap"]
