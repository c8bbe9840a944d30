"""The phases of a fit, as its checkpoint knows them: more epochs go on from it where that is the same fit."""

from __future__ import annotations

from typing import Any

from whyclust.deep.training.phases import DeepModel, Phase

_ANEW = "name another file, or delete it to start anew."


def plan_of(model: DeepModel) -> list[dict[str, Any]]:
    """What a checkpoint says of each phase."""
    return [_told(phase) for phase in model.phases()]


def _told(phase: Phase) -> dict[str, Any]:
    scheduled = phase.fixed_length or any(update.schedule is not None for update in phase.updates)
    rates = [repr(update.optimizer) for update in phase.updates]
    return {"name": phase.name, "epochs": phase.epochs, "rates": rates, "scheduled": scheduled}


def refuse_another_fit(
    before: list[dict[str, Any]], now: list[dict[str, Any]], progress: dict[str, Any] | None, called: str
) -> None:
    """Raise unless a fit that stands at `progress` goes on as one that had the plan of now from the start.

    Parameters
    ----------
    before, now : list of dict
        Plans: of the fit that wrote the checkpoint, and of the one that found it.
    progress : dict or None
        Where the checkpoint stands; None where starts are over of which the end was not kept.
    called : str
        The checkpoint, as errors call it.
    """
    if [one["name"] for one in before] != [one["name"] for one in now]:
        raise ValueError(f"{called} is of a fit with other phases: {_ANEW}")
    for number, (old, new) in enumerate(zip(before, now, strict=True)):
        if old == new or (progress is not None and number > progress["phase"]):
            continue  # as it was, or not begun yet
        change = (
            f"{called} is of {old['epochs']} epochs of {new['name']!r}, and {new['epochs']} are asked for"
        )
        if progress is None:
            raise ValueError(f"{change}, but of several starts (n_init) only the best is kept: {_ANEW}")
        if number < progress["phase"]:
            raise ValueError(f"{change}, but later phases have begun: {_ANEW}")
        if old["rates"] != new["rates"]:
            raise ValueError(
                f"{change}, but their number sets the learning rate: give learning_rate=, and {_ANEW}"
            )
        if old["scheduled"]:
            raise ValueError(
                f"{change}, but its course follows from their number, so that a longer fit differs from the "
                f"first step on: {_ANEW}"
            )
        if new["epochs"] < old["epochs"]:
            raise ValueError(f"{change}, which are fewer: {_ANEW}")
