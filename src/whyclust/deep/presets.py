"""Settings of the paper's experiments, by data set (tables 7, 8 and 9 of CM and C-Net).

    CNet.preset("pendigit")
    CNet.preset("mnist", init="pretrained", random_state=0)

A preset is an estimator with these settings and the defaults for all others; whatever is passed by name
comes first. Where the paper and the code released with it differ (β₁ of Adam is 0.99 or 0.9; the learning
rate falls or stays), presets follow the code; the printed form of C-Net is
``CNet.preset(name, momentum=0.99, final_learning_rate=1e-4)``. CM and C-Net begin at random, as most of the
paper's findings do; ``init="k-means++"`` and ``init="pretrained"`` are its other variants.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

from whyclust.deep.networks.autoencoders import PAPERS

#: Other names of the same data.
ALIASES = {
    "pendigits": "pendigit",
    "fashion_mnist": "fmnist",
    "fashion-mnist": "fmnist",
    "news20_raw": "20news",
    "news20": "20news",
}
NAMES = ("mnist", "fmnist", "usps", "cifar10", "r10k", "20news", "10x73k", "pendigit")


def columns(*values: Any) -> dict[str, Any]:
    """One value for each data set."""
    return dict(zip(NAMES, values, strict=True))


# Reuters-10k has four classes: section 4.3.1 counts it among those with ten, but an accuracy of 26 % at an
# ARI of zero (table 6) is that of four.
N_CLUSTERS = columns(10, 10, 10, 10, 4, 20, 8, 10)
# p of table 8; "we used the same architectures for all models".
EMBEDDING = columns(10, 10, 30, 10, 75, 100, 10, 70)


#: "we used the same architectures for all models" (section 5.2.1).
HIDDEN = dict.fromkeys(NAMES, PAPERS)


def of_table(**tables: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Settings of a model by data set, with the paper's number of clusters."""
    every = {"n_clusters": N_CLUSTERS, **tables}
    return {name: {setting: values[name] for setting, values in every.items()} for name in NAMES}


class WithPresets:
    """Gives an estimator the settings of a paper's experiments: a class lists its own, by data set."""

    presets: ClassVar[dict[str, dict[str, Any]]] = {}
    #: The same, where it differs, without pretraining.
    presets_from_random: ClassVar[dict[str, dict[str, Any]]] = {}

    @classmethod
    def preset(cls, name: str, **overrides: Any) -> Self:
        """Return an unfitted estimator with its paper's settings for a data set.

        Parameters
        ----------
        name : str
            mnist, fmnist, usps, cifar10, r10k, 20news, 10x73k or pendigit; ``presets`` lists those of other
            papers.
        **overrides
            Settings of your own, which come first.

        Returns
        -------
        estimator
        """
        data = name.lower() if isinstance(name, str) else name
        data = ALIASES.get(data, data)
        if data not in cls.presets:
            listed = f"expected one of {', '.join(cls.presets)}" if cls.presets else "this model has none"
            raise ValueError(f"No preset of {cls.__name__} is called {name!r}, {listed}.")
        at_random = overrides.get("pretrain_epochs") == 0
        settings = cls.presets[data] | (cls.presets_from_random.get(data, {}) if at_random else {})
        if overrides.get("image_shape") is not None:
            settings.pop("hidden", None)  # the papers' layers are dense, not convolutions
        return cls(**settings | overrides)
