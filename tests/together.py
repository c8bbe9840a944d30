"""What each process of ``torchrun`` runs in test_deep_sharing: fits, and a file of what came out."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import torch
from sklearn.datasets import make_blobs

import whyclust as wc
from whyclust.deep import DCN, DEC, DKM, IDEC, ACeDeC, AutoencoderKMeans, ClusteringModule, MaskAndJitter

SMALL = {"hidden": (16,), "epochs": 4, "batch_size": 50, "random_state": 0, "verbose": None}
MODELS = {
    "AE+KM": lambda: AutoencoderKMeans(3, **SMALL),
    "DEC": lambda: DEC(3, pretrain_epochs=3, **SMALL),
    "IDEC": lambda: IDEC(3, pretrain_epochs=3, **SMALL),
    "DCN": lambda: DCN(3, pretrain_epochs=3, augment=MaskAndJitter(), **SMALL),
    "DKM": lambda: DKM(3, pretrain_epochs=3, **SMALL),
    "ACe/DeC": lambda: ACeDeC(DCN(3, pretrain_epochs=3, embedding_dim=4, **SMALL), space_epochs=2),
}


def rows() -> np.ndarray:
    """Not a multiple of the batches, nor of the processes."""
    X, _ = make_blobs(203, centers=3, n_features=6, random_state=1)
    return (X / 10).astype(np.float32)


def fitted(folder: Path, which: str) -> None:
    X = rows()
    for name, made in MODELS.items():
        model = made()
        if name == "DCN":
            model.set_params(checkpoint=folder / "dcn.npz", checkpoint_every=2)
        model.fit(X)
        wc.save(model, folder / f"{name.replace('/', '')}-{which}.npz")


def refusal(work: object) -> str:
    try:
        work()  # type: ignore[operator]
    except ValueError as error:
        return str(error)
    return "no error"


def with_dropout() -> tuple[torch.nn.Module, torch.nn.Module]:
    torch.manual_seed(0)  # the same weights in every process
    encoder = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 3))
    return encoder, torch.nn.Linear(3, 6)


def main(folder: Path) -> None:
    rank = os.environ["RANK"]
    fitted(folder, rank)
    X = rows()
    told = [
        refusal(lambda: ClusteringModule(3, epochs=1, verbose=None).fit(X)),
        refusal(lambda: DEC(3, batch_norm=True, **SMALL).fit(X)),
        refusal(lambda: DEC(3, autoencoder=with_dropout(), **{**SMALL, "hidden": None}).fit(X)),
        refusal(lambda: AutoencoderKMeans(3, layer_epochs=1, **SMALL).fit(X)),
        refusal(lambda: AutoencoderKMeans(3, **{**SMALL, "epochs": 2 + int(rank)}).fit(X)),
        refusal(lambda: AutoencoderKMeans(3, **SMALL).fit(X + int(rank))),
    ]
    # Seeds that are drawn are those of the first process.
    drawn = AutoencoderKMeans(3, **{**SMALL, "epochs": 1, "random_state": None}).fit(X)
    told.append(np.round(drawn.cluster_centers_, 4).tolist().__repr__())
    (folder / f"told-{rank}.txt").write_text("\n".join(told), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
