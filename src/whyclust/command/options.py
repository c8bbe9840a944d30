"""What the job is asked to do."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Options:
    """What the job is asked to do; the parameters of `explain_table`."""

    k: int | None = None
    method: str = "kmeans"
    columns: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    id_column: str | None = None
    labels: str | None = None
    seed: int = 0
    k_by: str = "apart"
    scale: str = "auto"

    @property
    def source(self) -> str | None:
        """Where the clusters come from, if they were given."""
        return None if self.labels is None else f"column '{self.labels}'"

    @property
    def not_features(self) -> list[str]:
        """Columns that name or label the rows."""
        return [name for name in (self.id_column, self.labels) if name is not None]


# What makes a model, in the order of `refuse_beside_model`.
_OF_MODELS = ("-k", "--method", "--columns", "--drop", "--labels", "--k-by", "--audit", "--seed", "--scale")


def refuse_beside_model(*given: object) -> None:
    """Refuse options that make a model where there is one."""
    for option, value in zip(_OF_MODELS, given, strict=True):
        if value:
            raise ValueError(
                f"--model assigns rows by a model that there is, so {option} has nothing to do: give one of "
                "the two."
            )
