"""ConcreteAutoencoder: the columns from which all others can be made (Balın, Abid and Zou, ICML 2019)."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from whyclust.saving.registry import saved
from whyclust.select.ranking import RankingSelector
from whyclust.select.reaching import SEEDS, with_torch

# Steps of an epoch where no batch size is given, and the fewest rows of a step, as published.
_STEPS, _FEWEST = 256, 16


@saved
class ConcreteAutoencoder(RankingSelector):
    """Keep the columns from which a small network can make all the others.

    k neurons each take a random mixture of the columns. A temperature falls during training, so that each
    mixture becomes a single column, and a decoder reconstructs the whole row from these k. Needs PyTorch.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        Columns to keep, and neurons: a number of them, a share of all, or None for half of them.
    hidden : sequence of int, default=(320,)
        Hidden layers of the decoder.
    epochs : int, default=300
        Passes over the table. Training ends earlier when the neurons have decided.
    max_tries : int, default=1
        Where the neurons have not decided at the end, train anew with twice the epochs, this often at most.
        The authors' program tries five times; tables of few rows need it.
    batch_size : int or None, default=None
        Rows of a step. None makes 256 steps of an epoch, of at least 16 rows.
    learning_rate : float, default=1e-3
        Adam's.
    first_temperature : float, default=10.0
        T_0, of the first step.
    last_temperature : float, default=0.1
        T_B, of the last step; it falls by the same factor in each.
    decided : float, default=0.998
        Neurons have decided when their largest probability is this, on the mean.
    device : str, default="auto"
        ``"auto"`` is a CUDA card where there is one.
    random_state : int, RandomState instance or None, default=None
        Source of weights, noise and batches.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        The largest probability with which some neuron takes a column, from 0 to 1.
    choices_ : ndarray of int of shape (n_neurons,)
        The column that each neuron takes. Two may take the same.
    certainty_ : float
        The mean over neurons of their largest probability: near 1 if they have decided.
    history_ : dict
        ``history_["selection"]`` lists the reconstruction error, epoch by epoch, of the last try.
    ranking_ : ndarray of int of shape (n_features,)
        1 is the best column. Columns that a neuron takes come first; where two take the same, the next by
        score fills up.
    n_features_ : int
        Columns that are kept.
    n_features_in_ : int
        Columns seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if the table had any.

    See Also
    --------
    DUFS : Gates by the smoothness of a graph, not by reconstruction.

    Notes
    -----
    The error of a column counts by its variance: put a scaler before it. What is easy to reconstruct is not
    what clusters differ in: with many columns of correlated noise it takes those.

    Examples
    --------
    >>> import numpy as np
    >>> from whyclust.select import ConcreteAutoencoder
    >>> hidden = np.random.default_rng(0).normal(size=(80, 1))
    >>> X = np.hstack([hidden, 2.0 * hidden, -hidden, 0.01 * np.ones((80, 3))])
    >>> selector = ConcreteAutoencoder(1, hidden=(16,), epochs=200, learning_rate=0.05, random_state=0)
    >>> selector.fit(X).choices_ < 3
    array([ True])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **RankingSelector._parameter_constraints,
        "hidden": ["array-like"],
        "epochs": [Interval(Integral, 0, None, closed="left")],
        "max_tries": [Interval(Integral, 1, None, closed="left")],
        "batch_size": [Interval(Integral, 1, None, closed="left"), None],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "first_temperature": [Interval(Real, 0, None, closed="neither")],
        "last_temperature": [Interval(Real, 0, None, closed="neither")],
        "decided": [Interval(Real, 0, 1, closed="right")],
        "device": "no_validation",
        "random_state": ["random_state"],
    }
    _largest = 1e12  # single precision

    def __init__(
        self,
        n_features_to_select: int | float | None = None,
        *,
        hidden: Any = (320,),
        epochs: int = 300,
        max_tries: int = 1,
        batch_size: int | None = None,
        learning_rate: float = 1e-3,
        first_temperature: float = 10.0,
        last_temperature: float = 0.1,
        decided: float = 0.998,
        device: Any = "auto",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.hidden = hidden
        self.epochs = epochs
        self.max_tries = max_tries
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.first_temperature = first_temperature
        self.last_temperature = last_temperature
        self.decided = decided
        self.device = device
        self.random_state = random_state

    def _layers(self) -> list[int]:
        if not all(isinstance(size, (int, np.integer)) and size >= 1 for size in self.hidden):
            raise ValueError(
                f"hidden={self.hidden!r}, expected the sizes of the hidden layers, such as (320,), or () for "
                "none."
            )
        return [int(size) for size in self.hidden]

    def _scores(self, X: NDArray) -> NDArray:
        layers = self._layers()
        concrete, training = with_torch("torch_concrete", self), with_torch("torch_training", self)
        n_rows, n_features = X.shape
        seed = int(check_random_state(self.random_state).randint(SEEDS))
        for attempt in range(self.max_tries):
            epochs = self.epochs * 2**attempt
            model, self.history_ = training.trained(
                lambda generator, epochs=epochs: concrete.ConcreteSelector(
                    n_features,
                    self._count(n_features),
                    layers,
                    generator,
                    epochs=epochs,
                    batch_size=self.batch_size or max(n_rows // _STEPS, _FEWEST),
                    learning_rate=self.learning_rate,
                    first_temperature=self.first_temperature,
                    last_temperature=self.last_temperature,
                    decided=self.decided,
                ),
                X,
                seed + attempt,
                self.device,
            )
            self.certainty_ = model.certainty()
            if self.certainty_ >= self.decided:
                break
        if self.certainty_ < self.decided:
            warnings.warn(
                f"The neurons have not decided after {epochs} epochs: their largest probability is "
                f"{self.certainty_:.3f} on the mean, expected {self.decided:g}. Raise epochs or max_tries.",
                ConvergenceWarning,
                stacklevel=4,
            )
        probabilities = model.chances().detach().cpu().numpy().astype(np.float64)
        self.choices_ = probabilities.argmax(axis=1)
        return probabilities.max(axis=0)

    def _order(self) -> NDArray:
        taken = np.isin(np.arange(len(self.scores_)), self.choices_)
        return np.lexsort((-self.scores_, ~taken))
