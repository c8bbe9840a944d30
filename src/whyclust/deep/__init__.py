"""Deep clusterings: a network learns an embedding in which clusters are centroids.

Needs PyTorch, the extra ``torch``. All of them are scikit-learn estimators and share one
training loop, which goes on where it was killed if it is given a ``checkpoint``.
"""

from whyclust._extras import missing as _missing

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise _missing("whyclust.deep", "torch") from error

from whyclust.cluster.clustering_module_em import ClusteringModuleEM as ClusteringModuleEM
from whyclust.deep import explained as _explained  # noqa: F401  (registers the networks of all models)
from whyclust.deep.explained import with_rules as with_rules
from whyclust.deep.models.ace_dec import ACeDeC
from whyclust.deep.models.autoencoder_k_means import AutoencoderKMeans
from whyclust.deep.models.c_net import CNet
from whyclust.deep.models.clustering_module import ClusteringModule
from whyclust.deep.models.dcn import DCN
from whyclust.deep.models.dec import DEC, IDEC
from whyclust.deep.models.dkm import DKM
from whyclust.deep.models.idc import IDC
from whyclust.deep.models.tell import TELL
from whyclust.deep.training.augmenting import MaskAndJitter, TurnAndShift
from whyclust.network import torch_stored_trunk as _stored_trunk  # noqa: F401  (registers what files keep of encoders)
from whyclust.network.torch_stored_layers import stored_layer as stored_layer

__all__ = [
    "DCN",
    "DEC",
    "DKM",
    "IDC",
    "IDEC",
    "TELL",
    "ACeDeC",
    "AutoencoderKMeans",
    "CNet",
    "ClusteringModule",
    "MaskAndJitter",
    "TurnAndShift",
]
