"""What all deep clusterings share: checked input, starts, devices, predictions.

An estimator lists its parameters, says how its module is built (:meth:`DeepClusterer._model`) and, if the
last losses do not tell good starts from bad ones, by what to compare them (:meth:`DeepClusterer._score`).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from whyclust.deep.generation import Generative, moments, spreads
from whyclust.deep.parameters import Declared, number, optional, path, setting, whole, yes_or_no
from whyclust.deep.presets import WithPresets
from whyclust.deep.training.devices import choose_device, seed_torch
from whyclust.deep.training.divergence import diverged, refuse_broken
from whyclust.deep.training.in_words import in_words
from whyclust.deep.training.keeping import Bar, Keeper, Notice, Runs, fingerprint, is_watched
from whyclust.deep.training.loop import Progress, evaluating, kept_whole, train
from whyclust.deep.training.phases import DeepModel, refuse_infinite
from whyclust.deep.training.plans import plan_of
from whyclust.deep.training.sharing import found_team, refuse_joined_rows
from whyclust.inputs import Images
from whyclust.inputs.reading import finite_table
from whyclust.saving.registry import saved

_BLOCK = 4096
# Squares of larger numbers, summed over columns, leave single precision.
_LARGEST = 1e12
# A cluster that holds more of the rows than this has swallowed the others.
_SWALLOWED = 0.95
# Settings that do not change what is learned; of the number of epochs the phases tell.
_ASIDE = {"verbose", "checkpoint", "checkpoint_every", "device", "epochs"}


def _take_apart(estimator: DeepClusterer) -> dict[str, Any]:
    from whyclust.deep.stored import to_arrays

    check_is_fitted(estimator, "model_")
    description, arrays = to_arrays(estimator)
    return {"description": description, "arrays": arrays}


def _put_together(parts: dict[str, Any]) -> DeepClusterer:
    from whyclust.deep.stored import from_arrays

    return from_arrays(parts["description"], parts["arrays"])


class DeepClusterer(
    Declared,
    WithPresets,
    Generative,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    ClusterMixin,
    BaseEstimator,
):
    """Base of all deep clusterings; a model says how it is built and what its phases are.

    Parameters
    ----------
    n_clusters : int
        Number of clusters.
    epochs : int
        Passes over the table.
    batch_size : int
        Rows of a step, at most.
    learning_rate : float
        Adam's, with ε = 1e-3 (section 5.2.1 of CM).
    patience : int or None
        Stop after so many epochs in which the loss did not fall by a thousandth.
    n_init : int
        Starts, of which the one with the lowest last loss is kept; starts with empty clusters come last.
    device : str
        ``"auto"`` is a CUDA card where there is one.
    random_state : int, RandomState or None
        Source of weights, starts and batches.
    verbose : bool or None
        Whether to show a progress bar. Without it, a fit that takes longer than two seconds says on standard
        error, once for each long phase, how long that is likely to take; None says nothing at all.
    checkpoint : path or None
        File from which a fit that was killed goes on, with the same result; needs a whole number as
        `random_state`. A fit that is over goes on, too, if more `epochs` are asked for, and ends as if they
        had been from the start; where a model's course follows from their number, that is refused.
    checkpoint_every : int
        Epochs between writes.

    Attributes
    ----------
    labels_ : ndarray of int of shape (n_samples,)
    cluster_centers_ : ndarray of shape (n_clusters, embedding)
        In the embedding; :meth:`decoded_centers` brings them to the table's columns.
    cluster_spreads_ : ndarray of shape (n_clusters, embedding)
        Standard deviation of the members of each cluster.
    empty_clusters_ : ndarray of int
        Clusters without members.
    history_ : dict
        ``history_[phase][term]`` lists a term of the loss, epoch by epoch, of the start that was kept.
    scores_ : ndarray of shape (n_starts,)
        By which starts are compared, lower is better; starts with empty clusters come last.
    feature_means_ : ndarray of shape (n_features,)
        Column means of the rows it was fitted on: what an explanation sees columns from.
    feature_deviations_ : ndarray of shape (n_features,)
        Their standard deviations.
    model_ : DeepModel
        The torch module.
    device_ : str
        Where it is.
    n_features_in_ : int
    """

    n_clusters: int = setting(8, whole(1), positional=True)
    epochs: int = setting(100, whole(0))
    batch_size: int | None = setting(256, whole(1))
    learning_rate: float | None = setting(1e-3, number())
    patience: int | None = setting(None, optional(whole(1)))
    n_init: int = setting(1, whole(1))
    device: Any = setting("auto")
    random_state: Any = setting(None)
    verbose: bool | None = setting(False, optional(yes_or_no))
    checkpoint: Any = setting(None, path)
    checkpoint_every: int = setting(10, whole(1))

    def __init_subclass__(cls, **options: Any) -> None:
        """Every model can be saved; files call those of others by their full name."""
        super().__init_subclass__(**options)
        own = cls.__module__.startswith("whyclust.")
        name = cls.__name__ if own else f"{cls.__module__}.{cls.__qualname__}"
        saved(cls, name=name, take_apart=_take_apart, put_together=_put_together)

    # --- to be said by a model -----------------------------------------------------------------

    def _model(self, n_features: int, generator: torch.Generator) -> DeepModel:
        """The module, initialised, with its phases."""
        raise NotImplementedError

    def _score(self, model: DeepModel, data: Tensor, progress: Progress) -> float:
        """By which starts are compared, lower is better; never by labels."""
        trained = [terms for terms in progress.history.values() if terms]
        return float(sum(values[-1] for values in trained[-1].values())) if trained else 0.0

    def _prepare(self, table: NDArray) -> None:
        """Look at the rows before training: refuse them, or take note of what settings depend on."""

    # --- fit -----------------------------------------------------------------------------------

    def fit(self, X: ArrayLike, y: Any = None) -> Any:
        """Train the network and its clusters.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self
        """
        self._check_settings()
        table = self._checked(X, reset=True)
        if len(table) < self.n_clusters:
            raise ValueError(
                f"Found n_samples={len(table)}, fewer rows than n_clusters={self.n_clusters}: use fewer "
                "clusters or more rows."
            )
        device = choose_device(self.device)
        self._prepare(table)
        data = torch.from_numpy(table).to(device)
        team = found_team(device)
        seed = team.agreed(int(check_random_state(self.random_state).randint(2**31 - 1)))
        keeper = self._keeper(data, seed)
        if team.size > 1:
            asked = {**self._deciding(), "random_state": seed, "epochs": self.epochs}
            team.refuse_different(fingerprint(type(self).__name__, asked, data))
        runs = Runs() if keeper is None else keeper.runs
        model: DeepModel | None = None
        # Modules draw from torch's global generators when they are made; those are as before afterwards.
        cards = list(range(torch.cuda.device_count())) if device.type == "cuda" else []
        with torch.random.fork_rng(devices=cards), ExitStack() as stack:
            watchers: list[Any] = [] if keeper is None or not team.is_first else [keeper]
            if self.verbose and team.is_first and not is_watched():
                watchers.append(stack.enter_context(Bar(type(self).__name__)))
            elif self.verbose is not None and team.is_first:
                watchers.append(Notice(type(self).__name__, self.n_init))
            for run in range(len(runs.scores), self.n_init):
                progress = Progress(interrupted="Interrupted")  # until it has begun
                try:
                    seed_torch(seed + run, device)
                    generator = torch.Generator().manual_seed(seed + run)
                    model = self._model(table.shape[1], generator).to(device)
                    refuse_joined_rows(model, team, type(self).__name__)
                    found = None if keeper is None else keeper.resume(model, generator)
                    progress = train(model, data, generator, progress=found, watchers=watchers, team=team)
                    if not (progress.interrupted and runs.scores):
                        runs.add(*self._judged(model, data, progress), progress, model)
                    if keeper is not None and team.is_first and not progress.interrupted:
                        keeper.end_run()
                except KeyboardInterrupt:
                    if not runs.scores:
                        raise
                    progress.interrupted = progress.interrupted or "Interrupted"
                if progress.interrupted:
                    warnings.warn(f"{progress.interrupted}; {runs.kept(run)}.", UserWarning, stacklevel=2)
                    break
            if model is None:  # all starts were over when the checkpoint was written
                model = self._model(table.shape[1], torch.Generator().manual_seed(seed)).to(device)
        model.restore(runs.state)
        ending, trained = Progress(), model.eval()
        kept_whole(trained, lambda: self._take(trained, device, table, runs), ending, "after training")
        if ending.interrupted:
            warnings.warn(f"{ending.interrupted}.", UserWarning, stacklevel=2)
        for told in self._complaints():
            warnings.warn(told, UserWarning, stacklevel=2)
        return self

    def _judged(self, model: DeepModel, data: Tensor, progress: Progress) -> tuple[float, int]:
        """Score of a start that is over, and how many of its clusters are empty."""

        def judge() -> tuple[float, int]:
            score = self._score(model, data, progress)
            return score, self.n_clusters - len(self._labels(model, data).unique())

        return kept_whole(model, judge, progress, "while the start was scored")

    def _take(self, model: DeepModel, device: torch.device, table: NDArray, runs: Runs) -> None:
        """Keep what was learned."""
        with evaluating(model):
            for start in range(0, len(table), _BLOCK):
                z = model.embed(torch.from_numpy(table[start : start + _BLOCK]).to(device))
                refuse_infinite(model.logits(z))
        self.model_ = model
        self.device_ = str(device)
        self.history_ = runs.history
        self.scores_ = np.asarray(runs.scores)
        self.feature_means_, self.feature_deviations_ = moments(table)
        self.labels_ = self._over_rows(lambda x: self._labels(self.model_, x), table)
        self._describe_clusters(table)

    def _describe_clusters(self, table: NDArray) -> None:
        """Where clusters are in the embedding, and how wide."""
        embedded = self._over_rows(self.model_.embed, table)
        self._n_features_out = embedded.shape[1]
        self.cluster_centers_ = self.model_.cluster_centers().detach().cpu().numpy().copy()
        self.cluster_spreads_ = spreads(embedded, self.labels_, self._n_found)

    def _keeper(self, data: Tensor, seed: int) -> Keeper | None:
        if self.checkpoint is None:
            return None
        if not isinstance(self.random_state, (int, np.integer)):
            raise ValueError(
                f"checkpoint needs a fixed seed to go on from, but random_state is {self.random_state!r}: "
                "pass a whole number."
            )
        mark = fingerprint(type(self).__name__, self._deciding(), data)
        with torch.random.fork_rng(devices=[]):
            plan = plan_of(self._model(data.shape[1], torch.Generator().manual_seed(seed)))
        return Keeper(Path(self.checkpoint), self.checkpoint_every, mark, plan, self.n_init)

    def _deciding(self) -> dict[str, Any]:
        """Settings that change what is learned, with those of a model that this one is put around."""
        found = {name: value for name, value in self.get_params(deep=False).items() if name not in _ASIDE}
        for name, value in found.items():
            if isinstance(value, DeepClusterer) and name != "autoencoder":  # of which the weights are taken
                found[name] = {"class": type(value).__name__, **value._deciding()}
        return found

    def _checked(self, X: ArrayLike, *, reset: bool) -> NDArray:
        """The table in single precision."""
        least = 2 if reset else 1
        if self.image_shape is not None and np.ndim(X) in (3, 4):
            X = np.asarray(X)
            Images(tuple(self.image_shape)).refuse_other(Images(X.shape[1:]), "X")
            X = X.reshape(len(X), -1)
        kinds = [np.float32, np.float64]
        table = finite_table(self, X, _LARGEST, reset=reset, dtype=kinds, ensure_min_samples=least)
        table = np.ascontiguousarray(table, dtype=np.float32)
        return table if table.flags.writeable else table.copy()  # torch takes no read-only memory

    def _complaints(self) -> Iterator[str]:
        """Sentences of what went wrong in a fit that is over."""
        left = self._collapse()
        if self._n_found == 1:
            return
        if left:
            yield (
                f"The clusters have collapsed: {left}. Try standardised columns, pretraining, more starts "
                "(n_init) or fewer clusters."
            )
        yield from diverged(self.history_)

    def _collapse(self) -> str:
        """Take note of empty clusters; what is left, if there are any, or if one holds nearly all rows."""
        counts = np.bincount(self.labels_, minlength=self._n_found)
        self.empty_clusters_ = np.flatnonzero(counts == 0)
        share = counts.max() / counts.sum()
        if len(self.empty_clusters_) or share > _SWALLOWED:
            told = f"{len(self.empty_clusters_)} of {self._n_found} clusters are empty"
            return f"{told} and the largest holds {share:.0%} of the rows"
        return ""

    def history_frame(self) -> pd.DataFrame:
        """Return `history_` as one tidy frame.

        Returns
        -------
        DataFrame
            One row for each phase, epoch (from 1 on) and term of the loss, with its value.
        """
        check_is_fitted(self)
        rows = [
            (phase, epoch, term, value)
            for phase, terms in self.history_.items()
            for term, values in terms.items()
            for epoch, value in enumerate(values, 1)
        ]
        return pd.DataFrame(rows, columns=["phase", "epoch", "term", "value"])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float32"]  # the network's own
        return tags

    # --- answers -------------------------------------------------------------------------------

    def _labels(self, model: DeepModel, x: Tensor) -> Tensor:
        logits = torch.cat([model.logits(model.embed(part)) for part in x.split(_BLOCK)])
        if not torch.isfinite(logits).all():  # the largest of NaN would be the first
            refuse_broken(model)
        return logits.argmax(dim=1)

    def _over_rows(self, function: Any, table: NDArray) -> NDArray:
        """Apply a function of tensors, block by block."""
        device = torch.device(self.device_)
        with evaluating(self.model_):
            parts = [
                function(torch.from_numpy(table[start : start + _BLOCK]).to(device)).cpu().numpy()
                for start in range(0, len(table), _BLOCK)
            ]
        if not all(np.isfinite(part).all() for part in parts):
            refuse_broken(self.model_)
        return np.concatenate(parts)

    def predict(self, X: ArrayLike) -> NDArray:
        """Return the cluster of each row."""
        check_is_fitted(self)
        return self._over_rows(lambda x: self._labels(self.model_, x), self._checked(X, reset=False))

    def predict_proba(self, X: ArrayLike) -> NDArray:
        """Return the soft assignment of each row to each cluster."""
        check_is_fitted(self)
        table = self._checked(X, reset=False)
        return self._over_rows(lambda x: self.model_.probabilities(self.model_.embed(x)), table)

    def transform(self, X: ArrayLike) -> NDArray:
        """Return the embedding of each row."""
        check_is_fitted(self)
        return self._over_rows(self.model_.embed, self._checked(X, reset=False))

    def decode(self, Z: ArrayLike) -> NDArray:
        """Return the rows that points of the embedding stand for.

        Parameters
        ----------
        Z : array of shape (n, embedding), or one point
            As :meth:`transform` returns them.

        Returns
        -------
        ndarray of shape (n, n_features)
        """
        check_is_fitted(self)
        try:
            points = np.array(Z, dtype=np.float32, ndmin=2)
        except (TypeError, ValueError):
            points = np.zeros((0, 0), dtype=np.float32)
        fits = points.ndim == 2 and len(points) and points.shape[1] == self._n_features_out
        if not fits or not np.isfinite(points).all():
            raise ValueError(
                f"Z has shape {points.shape}, expected finite numbers of shape (n, {self._n_features_out}), "
                "at least one row: points of the embedding, as transform returns them."
            )
        return self._over_rows(self.model_.decode, points)


@in_words.register
def _(value: DeepClusterer) -> str:
    return in_words(value.model_) if "model_" in vars(value) else repr(value)
