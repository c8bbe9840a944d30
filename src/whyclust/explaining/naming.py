"""Names of clusters that the user gave."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from whyclust._checks import did_you_mean
from whyclust._clusters import cluster_meant, clusters_listed


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
    found: dict[Any, str] = {}
    for cluster, name in names.items():
        meant = cluster_meant(cluster, clusters)
        if meant is None:
            hint = did_you_mean(cluster, [str(one) for one in clusters])
            raise ValueError(
                f"names has cluster {cluster!r}, expected one of {clusters_listed(clusters)}{hint}"
            )
        if not isinstance(name, str) or not name.strip():
            raise ValueError(f"names[{cluster!r}] is {name!r}, expected a name.")
        text = " ".join(name.split())
        if text in found.values():
            raise ValueError(f"names has {text!r} twice: give each cluster a name of its own.")
        found[meant] = text
    return found
