"""Who watches a fit: a keeper of checkpoints and a progress bar."""

from __future__ import annotations

import copy
import json
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from whyclust._progress import PATIENCE, is_watched
from whyclust.deep.training.checkpoints import damaged, optimizer_tensors, read_checkpoint, write_checkpoint
from whyclust.deep.training.in_words import digest, in_words
from whyclust.deep.training.loop import Progress
from whyclust.deep.training.phases import DeepModel, Phase, snapshot
from whyclust.deep.training.plans import refuse_another_fit

# Where a fit stands that has trained nothing yet: before its first phase.
_NOT_BEGUN = {"phase": -1}


@dataclass
class Runs:
    """Starts of a fit that are over: their scores, and the state of the best one.

    Attributes
    ----------
    scores : list of float
        Lower is better.
    empty : list of int
        Clusters without members; starts with fewer of them come first.
    history : dict
        Of the best one.
    state : dict
        Of the best one.
    """

    scores: list[float] = field(default_factory=list)
    empty: list[int] = field(default_factory=list)
    history: dict[str, Any] = field(default_factory=dict)
    state: dict[str, Tensor] = field(default_factory=dict)

    def add(self, score: float, empty: int, progress: Progress, model: DeepModel) -> None:
        """Take note of a start that has ended, and keep its state if it is the best."""
        if not self.scores or (empty, score) < min(zip(self.empty, self.scores, strict=True)):
            self.history = progress.history
            self.state = snapshot(model)
        self.scores.append(score)
        self.empty.append(empty)

    def kept(self, run: int) -> str:
        """What is taken where a start, so many of them before it, was interrupted."""
        if len(self.scores) <= run:
            return f"the best of {run} earlier starts is taken instead"
        return f"the best of {run + 1} starts is taken" if run else "the fit ends with it"


class Keeper:
    """Write a checkpoint every so many epochs, and find the one that is there.

    Parameters
    ----------
    path : Path
    every : int
        Epochs.
    fingerprint : str
        Tells this fit, of these settings and data, from any other, but for the number of epochs.
    plan : list of dict
        Its phases, see :func:`plan_of`.
    starts : int
        How many there are. Only of a single one is the end kept, from which more epochs can go on.

    Attributes
    ----------
    runs : Runs
        Starts that are over; at first those that were when the file was written.
    """

    def __init__(
        self, path: Path, every: int, fingerprint: str, plan: list[dict[str, Any]], starts: int
    ) -> None:
        self.path, self.every, self.fingerprint = path, every, fingerprint
        self.plan, self.starts = plan, starts
        self.runs = Runs()
        self._found: tuple[dict[str, Any], dict[str, Tensor]] | None = None
        if path.exists():
            meta, tensors = read_checkpoint(path)
            if meta.get("fingerprint") != fingerprint:
                raise ValueError(
                    f"checkpoint {str(path)!r} is of another model, other settings or other data: name "
                    "another file, or delete it to start anew."
                )
            try:
                best, planned, _ = meta["best"], meta["plan"], meta["progress"]
                self.runs = Runs(best["scores"], best["empty"], best["history"], _part(tensors, "best."))
            except (KeyError, TypeError):
                raise damaged(path, "a part is missing") from None
            self._found = meta, tensors
            if planned != plan:
                stands = None if self.runs.scores and starts > 1 else meta["progress"] or _NOT_BEGUN
                refuse_another_fit(planned, plan, stands, f"checkpoint {str(path)!r}")
                self.runs = Runs()  # what was over is not any more
        self._model: DeepModel | None = None
        self._end: tuple[dict[str, Any] | None, dict[str, Tensor]] = None, {}
        self._generator = torch.Generator()

    def resume(self, model: DeepModel, generator: torch.Generator) -> Progress | None:
        """Watch this model; bring it to where the file says it was, if it was written within its run."""
        self._model, self._generator = model, generator
        found, self._found = self._found, None
        if found is None or found[0]["progress"] is None:
            return None
        meta, tensors = found
        try:
            model.restore(_part(tensors, "model."))
            generator.set_state(tensors["generator"])
            torch.set_rng_state(tensors["global_generator"])
        except (KeyError, RuntimeError):
            raise damaged(self.path, "a part is missing") from None
        # Of this run only: the next ones begin anew.
        return Progress(**meta["progress"], optimizer=_part(tensors, "optimizer.", keep=True))

    def begin_phase(self, phase: Phase, done: int) -> None:
        """Nothing to do."""

    def end_epoch(self, progress: Progress, optimizers: list[torch.optim.Optimizer]) -> None:
        """Write the file, if it is time."""
        if progress.epoch % self.every or self._model is None:
            return
        self._write(*self._state(self._model, progress, optimizers))

    def end_phase(self, progress: Progress, optimizers: list[torch.optim.Optimizer]) -> None:
        """Copy the state, if it is that of a single start: hooks that end the phase will change it."""
        if self._model is None or self.starts > 1:
            return
        told, tensors = self._state(self._model, progress, optimizers)
        self._end = copy.deepcopy(told), {name: tensor.detach().clone() for name, tensor in tensors.items()}

    def _state(
        self, model: DeepModel, progress: Progress, optimizers: list[torch.optim.Optimizer]
    ) -> tuple[dict[str, Any], dict[str, Tensor]]:
        tensors = {f"model.{name}": tensor for name, tensor in model.state_dict().items()}
        tensors |= optimizer_tensors(optimizers)
        tensors |= {"generator": self._generator.get_state(), "global_generator": torch.get_rng_state()}
        return {name: getattr(progress, name) for name in ("phase", "epoch", "over", "history")}, tensors

    def end_run(self) -> None:
        """Write that a start is over, with the end of its last phase, from which more epochs can go on."""
        self._write(*self._end)

    def _write(self, progress: dict[str, Any] | None, tensors: dict[str, Tensor]) -> None:
        best = {"scores": self.runs.scores, "empty": self.runs.empty, "history": self.runs.history}
        tensors = tensors | {f"best.{name}": tensor for name, tensor in self.runs.state.items()}
        meta = {"fingerprint": self.fingerprint, "plan": self.plan, "progress": progress, "best": best}
        write_checkpoint(self.path, meta, tensors)


def fingerprint(name: str, settings: dict[str, Any], data: Tensor) -> str:
    """A short text that differs where the model, its settings or the data do."""
    told = {key: in_words(value) for key, value in settings.items()}
    return digest(json.dumps([name, told, list(data.shape), digest(data.cpu().numpy().tobytes())]).encode())


def _part(tensors: dict[str, Tensor], prefix: str, *, keep: bool = False) -> dict[str, Tensor]:
    cut = 0 if keep else len(prefix)
    return {name[cut:]: tensor for name, tensor in tensors.items() if name.startswith(prefix)}


class Notice:
    """A line on standard error for each phase that takes its time, where a fit has no progress bar.

    Parameters
    ----------
    title : str
    starts : int
        How many there are; the phases of one are told.
    patience : float
        Seconds of a fit after which they are told, and which a phase must need to be told.
    """

    def __init__(self, title: str, starts: int = 1, patience: float = PATIENCE) -> None:
        self.title, self.starts, self.patience = title, starts, patience
        self.began = self.began_phase = time.monotonic()
        self.first = self.total = 0
        self.name = ""
        self.told: set[str] = set()

    def begin_phase(self, phase: Phase, done: int) -> None:
        """Take note of how long it is."""
        self.name, self.total, self.first = phase.name, phase.epochs, done
        self.began_phase = time.monotonic()

    def end_phase(self, progress: Progress, optimizers: list[torch.optim.Optimizer]) -> None:
        """Nothing to do."""

    def end_epoch(self, progress: Progress, optimizers: list[torch.optim.Optimizer]) -> None:
        """Tell of the phase, once, if it is time."""
        now, done = time.monotonic(), progress.epoch - self.first
        # Of a refit within a longer job that is shown nobody needs to know.
        if self.name in self.told or now - self.began < self.patience or is_watched():
            return
        passed, left = now - self.began_phase, self.total - progress.epoch
        # The first epochs, which are slower, would tell too much.
        settled = passed >= self.patience / 4
        if not settled or done < 1 or left < 1 or passed / done * (done + left) < self.patience:
            return
        hint = "" if self.told else " verbose=True shows progress, verbose=None says nothing."
        self.told.add(self.name)
        each = f" for each of {self.starts} starts" if self.starts > 1 else ""
        needed = _in_words(passed / done * (done + left)) + each
        sys.stderr.write(f"{self.title}: {self.name}, {self.total} epochs, takes about {needed}.{hint}\n")


def _in_words(seconds: float) -> str:
    """As people say it."""
    return f"{seconds:.0f} seconds" if seconds < 90 else f"{seconds / 60:.0f} minutes"


class Bar:
    """A progress bar on the terminal, one line for each phase."""

    def __init__(self, title: str) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Display

        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed}/{task.total}"))
        self.display = Display(*columns, TimeRemainingColumn(), console=Console(stderr=True))
        self.title = title
        self.task: Any = None
        self.name = ""

    def __enter__(self) -> Bar:
        self.display.start()
        return self

    def __exit__(self, *details: object) -> None:
        self.display.stop()

    def begin_phase(self, phase: Phase, done: int) -> None:
        """Add a line."""
        self.name = phase.name
        self.task = self.display.add_task(f"{self.title}: {phase.name}", total=phase.epochs, completed=done)

    def end_phase(self, progress: Progress, optimizers: list[torch.optim.Optimizer]) -> None:
        """Nothing to do."""

    def end_epoch(self, progress: Progress, optimizers: list[torch.optim.Optimizer]) -> None:
        """Move on, and show the loss."""
        losses = [values[-1] for values in progress.history[self.name].values() if values]
        description = f"{self.title}: {self.name}" + (f", loss {sum(losses):.4g}" if losses else "")
        self.display.update(self.task, completed=progress.epoch, description=description)
