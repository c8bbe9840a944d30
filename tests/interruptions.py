"""Fits that are killed or interrupted, and what it means that two fits are the same."""

import numpy as np

from whyclust.deep.training.keeping import Keeper


class KilledError(Exception):
    """Stands for a kill."""


def kill_after(monkeypatch, epochs):
    """Kill a fit when so many epochs, of all phases and starts, are over."""
    plain, count = Keeper.end_epoch, [0]

    def end_epoch(self, progress, optimizers):
        plain(self, progress, optimizers)
        count[0] += 1
        if count[0] == epochs:
            raise KilledError

    monkeypatch.setattr(Keeper, "end_epoch", end_epoch)


def assert_same_fit(one, other):
    np.testing.assert_array_equal(one.labels_, other.labels_)
    assert one.history_ == other.history_
    assert one.scores_.tolist() == other.scores_.tolist()
    first, second = one.model_.state_dict(), other.model_.state_dict()
    assert first.keys() == second.keys()
    for name, value in first.items():
        np.testing.assert_array_equal(value.numpy(), second[name].numpy(), err_msg=name)


def n_epochs(model):
    """Epochs of all phases."""
    return sum(len(next(iter(terms.values()), [])) for terms in model.history_.values())
