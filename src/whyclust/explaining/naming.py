"""Names of clusters that the user gave."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from whyclust._checks import did_you_mean


def read_cluster_names(names: Mapping[Any, str] | None, clusters: list[Any]) -> dict[Any, str]:
    """Names by cluster id, or an error that says what is amiss.

    A cluster may be written as text, as it is on a command line.

    >>> read_cluster_names({"2": "seniors"}, [0, 1, 2])
    {2: 'seniors'}
    """
    if names is None:
        return {}
    if not isinstance(names, Mapping):
        raise TypeError(f"names is a {type(names).__name__}, expected {{cluster: name}}.")
    written = {str(cluster): cluster for cluster in clusters}
    found: dict[Any, str] = {}
    for cluster, name in names.items():
        if str(cluster) not in written:
            listed = ", ".join(list(written)[:10]) + (", …" if len(written) > 10 else "")
            hint = did_you_mean(cluster, list(written))
            raise ValueError(f"names has cluster {cluster!r}, expected one of {listed}{hint}")
        if not isinstance(name, str) or not name.strip():
            raise ValueError(f"names[{cluster!r}] is {name!r}, expected a name.")
        text = " ".join(name.split())
        if text in found.values():
            raise ValueError(f"names has {text!r} twice: give each cluster a name of its own.")
        found[written[str(cluster)]] = text
    return found
