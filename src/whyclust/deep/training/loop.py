"""The one training loop of all deep models.

Data stay in memory as one tensor and are indexed by batch; nothing is fetched from the device within an
epoch. All randomness comes from a generator that is handed in; its state is part of a checkpoint, so a fit
that was killed ends as if it had not been.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Protocol

import torch
from torch import Tensor

from whyclust.deep.training.checkpoints import restore_optimizers
from whyclust.deep.training.phases import Batch, DeepModel, Phase, Terms, Update, nothing, snapshot
from whyclust.deep.training.sharing import Team

History = dict[str, dict[str, list[float]]]


class Watcher(Protocol):
    """Whoever wants to know how far a fit is: a progress bar, a keeper of checkpoints."""

    def begin_phase(self, phase: Phase, done: int) -> None:
        """A phase begins, with so many epochs behind it."""
        ...

    def end_epoch(self, progress: Progress, optimizers: list[torch.optim.Optimizer]) -> None:
        """An epoch has ended."""
        ...

    def end_phase(self, progress: Progress, optimizers: list[torch.optim.Optimizer]) -> None:
        """The last epoch of a phase has ended, and its `end` has not been called yet."""
        ...


@dataclass
class Progress:
    """How far a fit is.

    Attributes
    ----------
    phase, epoch : int
        Phases that are over, and epochs of the one at hand that are.
    over : bool
        Whether the phase at hand was ended by one of its hooks.
    history : dict
        Mean over the steps of every term of the loss, by phase and epoch.
    optimizer : dict
        State of the optimisers of the phase at hand, where a checkpoint brought one.
    interrupted : str
        Where Ctrl-C ended it, and what was kept; empty if it did not.
    """

    phase: int = 0
    epoch: int = 0
    over: bool = False
    history: History = field(default_factory=dict)
    optimizer: dict[str, Tensor] = field(default_factory=dict)
    interrupted: str = ""


def train(
    model: DeepModel,
    data: Tensor,
    generator: torch.Generator,
    *,
    progress: Progress | None = None,
    watchers: list[Any] | None = None,
    team: Team | None = None,
) -> Progress:
    """Run the phases of a model, or what is left of them; alone, or in a team of processes."""
    progress = Progress() if progress is None else progress
    for number, phase in enumerate(model.phases()):
        if number < progress.phase:
            continue
        _run(model, phase, data, generator, progress, watchers or [], team or Team())
        progress.phase, progress.epoch, progress.over, progress.optimizer = number + 1, 0, False, {}
    model.eval()
    return progress


def _run(
    model: DeepModel,
    phase: Phase,
    data: Tensor,
    generator: torch.Generator,
    progress: Progress,
    watchers: list[Any],
    team: Team,
) -> None:
    if progress.epoch == 0 and not progress.over:
        kept_whole(model, lambda: phase.begin(data, generator), progress, f"before {phase.name}")
    history = progress.history.setdefault(phase.name, {})
    # After Ctrl-C later phases are set up, so that the model is whole, but not trained.
    if phase.epochs and not progress.interrupted:
        optimizers = [update.optimizer.build(update.parameters) for update in phase.updates]
        if progress.optimizer:
            restore_optimizers(optimizers, progress.optimizer)
        for watcher in watchers:
            watcher.begin_phase(phase, progress.epoch)
        best = _Best(phase, model)
        team.agree_on(model)
        try:
            while not (progress.over or progress.epoch >= phase.epochs or _settled(history, phase.patience)):
                _epoch(model, phase, data, generator, optimizers, progress, team)
                best.see(history)
                for watcher in watchers:
                    watcher.end_epoch(progress, optimizers)
            for watcher in watchers:
                watcher.end_phase(progress, optimizers)
        except KeyboardInterrupt:
            best.restore()
            epoch = f"epoch {progress.epoch + 1} of {phase.epochs} of {phase.name}"
            progress.interrupted = f"Interrupted in {epoch}: {best.told} is kept"
        model.zero_grad(set_to_none=True)
        _refuse_lost_weights(optimizers, phase)
    kept_whole(model, lambda: phase.end(data), progress, f"at the end of {phase.name}")


def kept_whole(model: DeepModel, step: Callable[[], Any], progress: Progress, told: str) -> Any:
    """Do what a model is not whole without; if Ctrl-C comes meanwhile, again, without going on to train.

    The state is that of before, then: a step that was half done may have moved a part of it.
    """
    before = snapshot(model)
    with evaluating(model):
        try:
            return step()
        except KeyboardInterrupt:
            model.restore(before)
            kept = f"Interrupted {told}: what was trained so far is kept"
            progress.interrupted = progress.interrupted or kept
            return step()


def _epoch(
    model: DeepModel,
    phase: Phase,
    data: Tensor,
    generator: torch.Generator,
    optimizers: list[torch.optim.Optimizer],
    progress: Progress,
    team: Team,
) -> None:
    """One pass over all rows, and a note of it in the history; or none, if a hook ends the phase."""
    epoch = progress.epoch
    with evaluating(model):
        if phase.renew is not None and phase.renew_every and epoch and epoch % phase.renew_every == 0:
            forgotten = phase.renew(data, generator)
            for optimizer in optimizers:
                for tensor in forgotten:
                    optimizer.state.pop(tensor, None)
        if team.agreed(phase.before_epoch(data, epoch)):
            progress.over = True
            return
    team.agree_on(model)
    model.train()
    n_steps = -(-len(data) // phase.batch_size)
    order = torch.randperm(len(data), generator=generator).to(data.device)
    passes = _passes(phase.updates, optimizers)
    sums: dict[str, Tensor] = {}
    steps = 0
    # Equal parts, not a small one at the end: losses that are sums over the batch depend on its size.
    for number, rows in enumerate(order.tensor_split(n_steps)):
        step = epoch * n_steps + number
        if phase.before_step is not nothing and step % phase.every == 0:
            with evaluating(model):
                if team.agreed(phase.before_step(data, step)):
                    progress.over = True
                    break
        done = step / (phase.epochs * n_steps)
        _set_rates(optimizers, phase.updates, done)
        x = data.index_select(0, rows)
        view = None
        if phase.augment is not None:
            with torch.no_grad():
                view = phase.augment(x, generator)
        batch = Batch(x, rows, data, epoch, done, generator, view)
        own, weight = team.share(batch)
        terms: Terms = {}
        for one in passes:
            terms |= one.step(own, team, weight)
        steps += 1
        with torch.no_grad():
            phase.after_step(batch)
            for name, value in terms.items():
                part = value.detach() if weight == 1.0 else value.detach() * weight
                sums[name] = sums[name] + part if name in sums else part
    if steps:
        means = {name: float(value) / steps for name, value in team.summed(sums).items()}
        _refuse_not_finite(means, phase, epoch)
        for name, value in means.items():
            progress.history[phase.name].setdefault(name, []).append(value)
        progress.epoch = epoch + 1


@dataclass(frozen=True)
class _Pass:
    """A loss and the optimisers that step by its gradients."""

    loss: Callable[[Batch], Terms]
    optimizers: list[torch.optim.Optimizer]
    moved: list[Tensor]

    def step(self, batch: Batch, team: Team, weight: float) -> Terms:
        """Forward, backward, and a step of each optimiser; the weight is that of this process's rows."""
        terms = self.loss(batch)
        for tensor in self.moved:  # a twentieth of the time of zero_grad, which counts for small networks
            tensor.grad = None
        _total(terms).backward()
        team.sum_gradients(self.moved, weight)
        for optimizer in self.optimizers:
            optimizer.step()
        return terms


def _passes(updates: Sequence[Update], optimizers: list[torch.optim.Optimizer]) -> list[_Pass]:
    """The passes of a step: neighbours that have the same loss are one."""
    pairs = zip(updates, optimizers, strict=True)
    result = []
    for loss, members in groupby(pairs, key=lambda pair: pair[0].loss):
        moving = [optimizer for _, optimizer in members]
        moved = [tensor for one in moving for group in one.param_groups for tensor in group["params"]]
        result.append(_Pass(loss, moving, moved))
    return result


def _total(terms: Terms) -> Tensor:
    first, *others = terms.values()
    for other in others:
        first = first + other
    return first


def _set_rates(optimizers: list[torch.optim.Optimizer], updates: Sequence[Update], done: float) -> None:
    """Let learning rates follow their schedules, where there are any."""
    for optimizer, update in zip(optimizers, updates, strict=True):
        if update.schedule is None:
            continue
        factor = update.schedule(done)
        for group in optimizer.param_groups:
            start = group.setdefault("initial_lr", group["lr"])
            group["lr"] = start * factor


def _rates(phase: Phase) -> str:
    rates = dict.fromkeys(f"{update.optimizer.learning_rate:g}" for update in phase.updates)
    return f"lower learning_rate (now {', '.join(rates)})"


def _refuse_not_finite(means: dict[str, float], phase: Phase, epoch: int) -> None:
    for name, value in means.items():
        if not math.isfinite(value):
            raise FloatingPointError(
                f"The loss of {phase.name} ({name}) is {value} in epoch {epoch + 1}: {_rates(phase)}, or "
                "rescale the columns (StandardScaler in a Pipeline)."
            )


def _refuse_lost_weights(optimizers: list[torch.optim.Optimizer], phase: Phase) -> None:
    """Losses are taken before a step, so they do not tell of the last one."""
    moved = (tensor for one in optimizers for group in one.param_groups for tensor in group["params"])
    if not all(bool(torch.isfinite(tensor).all()) for tensor in moved):
        raise FloatingPointError(
            f"Weights are no longer finite after the last step of {phase.name}: {_rates(phase)}, or rescale "
            "the columns (StandardScaler in a Pipeline)."
        )


def _totals(history: dict[str, list[float]]) -> list[float]:
    return [sum(terms) for terms in zip(*history.values(), strict=True)]


def _settled(history: dict[str, list[float]], patience: int | None) -> bool:
    """Whether the last epochs brought no more than a thousandth."""
    totals = _totals(history)
    if patience is None or len(totals) <= patience:
        return False
    before = min(totals[:-patience])
    return min(totals[-patience:]) > before - 1e-3 * abs(before)


class _Best:
    """The state of the lowest loss, for whoever presses Ctrl-C."""

    def __init__(self, phase: Phase, model: DeepModel) -> None:
        self.phase, self.model = phase, model
        self.loss = math.inf
        self.state = snapshot(model)
        self.told = "the state before it"

    def see(self, history: dict[str, list[float]]) -> None:
        totals = _totals(history)
        if totals and (totals[-1] < self.loss or not self.phase.comparable):
            self.loss = totals[-1]
            self.state = snapshot(self.model)
            lowest, last = "the state of the lowest loss", "the state of the last whole epoch"
            self.told = lowest if self.phase.comparable else last

    def restore(self) -> None:
        self.model.restore(self.state)


@contextmanager
def evaluating(model: DeepModel) -> Iterator[None]:
    """Without gradients, dropout and moving statistics; as before afterwards."""
    training = model.training
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        model.train(training)
