"""Questions beyond relevance that an explanation answers; the rooms that answer them are reached on use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whyclust.explaining.reaching import reach

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whyclust.answers.compare import Comparison
    from whyclust.answers.rules_result import Rules
    from whyclust.answers.similar import SimilarRows
    from whyclust.answers.smallest_change import SmallestChange
    from whyclust.answers.smallest_changes import SmallestChanges
    from whyclust.answers.subpatterns import Subpatterns
    from whyclust.answers.sufficient_result import Sufficient


class Answering:
    """What an explanation can be asked besides the relevance that it holds."""

    def sufficient(self, rows: Any = None, target: float = 0.95, **options: Any) -> Sufficient:
        """Return, for each row, a smallest set of columns which, known alone, puts it into its cluster.

        Parameters
        ----------
        rows : positions, slice, mask or labels, optional
            Which rows; all by default.
        target : float
            How probable the cluster must be when only these columns are known.
        **options
            ``max_columns``, ``background``, ``background_size`` and ``random_state`` of
            :func:`whyclust.answers.sufficient`.
        """
        asked = self if rows is None else self[rows]  # type: ignore[index]
        return reach("sufficient")(asked, target=target, **options).among(self.labels)  # type: ignore[attr-defined]

    def smallest_change(
        self,
        row: Any,
        to: Any = None,
        *,
        fixed: Sequence[Any] = (),
        bounds: Mapping[Any, tuple[float | None, float | None]] | str | None = None,
        sparse: bool = False,
        whole: Sequence[Any] = (),
        near_data: bool = False,
    ) -> SmallestChange:
        """Return the nearest point in another cluster: what would have to change in a row.

        As :func:`whyclust.answers.smallest_change`, which tells what the options mean.
        """
        options = {"fixed": fixed, "bounds": bounds, "sparse": sparse, "whole": whole}
        return reach("smallest_change")(self, row, to=to, near_data=near_data, **options)

    def smallest_changes(self) -> SmallestChanges:
        """Return the nearest point in another cluster for every row, at once where borders are flat.

        As :func:`whyclust.answers.smallest_changes`.
        """
        return reach("smallest_changes")(self)

    def rules(self, cluster: Any = None, **options: Any) -> Rules:
        """Return a cluster, or all clusters, as rules of a few conditions in the table's own units.

        Parameters
        ----------
        cluster : cluster id, optional
            All clusters by default.
        **options
            ``target``, ``max_conditions``, ``max_rules`` and ``random_state`` of
            :func:`whyclust.answers.rules`.
        """
        return reach("rules")(self, cluster, **options)

    def compare(self, i: Any, j: Any) -> Comparison:
        """Return why two rows are together or apart, column by column.

        As :func:`whyclust.answers.compare`.
        """
        return reach("compare")(self, i, j)

    def similar(self, row: Any, count: int = 5) -> SimilarRows:
        """Return rows that are in the same cluster for the same reason, by relevance.

        As :func:`whyclust.answers.similar`.
        """
        return reach("similar")(self, row, count)

    def subpatterns(self, cluster: Any, *, random_state: Any = 0) -> Subpatterns:
        """Return groups of a cluster's members that are there for different reasons.

        As :func:`whyclust.answers.subpatterns`.
        """
        return reach("subpatterns")(self, cluster, random_state=random_state)
