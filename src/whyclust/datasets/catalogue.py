"""Every data set by name: its file, what it is, where it is from, and how it differs from the papers'."""

from __future__ import annotations

from dataclasses import dataclass

UCI = "UCI Machine Learning Repository"
CC_BY = "CC BY 4.0"


@dataclass(frozen=True)
class Entry:
    """One data set: what is known before its file is opened.

    Attributes
    ----------
    name, file : str
        Its name, and the file looked for in the data folder and in the cache.
    kind : {"table", "images", "texts", "arrays"}
        What the file holds, which decides how it is prepared.
    description, source, licence : str
        As in :class:`whyclust.datasets.Dataset`.
    n_clusters : int or None
        K of NEON's Table I.
    shape : tuple of int or None
        N and D of the rows as the papers have them.
    keep_binary, counts, normalise_rows : bool
        How its table is prepared: see :func:`whyclust.datasets.preparation.prepare_table`.
    notes, aliases : tuple of str
        Differences from the papers, and other names.
    """

    name: str
    file: str
    kind: str
    description: str
    source: str
    licence: str
    n_clusters: int | None = None
    shape: tuple[int, ...] | None = None
    keep_binary: bool = False
    counts: bool = False
    notes: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    normalise_rows: bool = False


def _neon(
    name: str,
    title: str,
    shape: tuple[int, int],
    k: int,
    *notes: str,
    file: str | None = None,
    kind: str = "table",
    keep_binary: bool = False,
    counts: bool = False,
    normalise_rows: bool = False,
    aliases: tuple[str, ...] = (),
    source: str = UCI,
    licence: str = CC_BY,
) -> Entry:
    """A row of NEON's Table I."""
    return Entry(
        name,
        file or f"{name}.npz",
        kind,
        title,
        source,
        licence,
        k,
        shape,
        keep_binary,
        counts,
        notes,
        aliases,
        normalise_rows,
    )


def _expression(
    name: str, title: str, source: str, licence: str, *notes: str, counts: bool = False, alias: str = ""
) -> Entry:
    """A table of gene expression: a gene seen in a few cells may have two values and still matter."""
    aliases = (alias,) if alias else ()
    return Entry(
        name, f"{name}.npz", "table", title, source, licence, None, None, True, counts, notes, aliases
    )


def _images(name: str, title: str, source: str, licence: str, *notes: str) -> Entry:
    """Images as arrays, one per row."""
    return Entry(name, f"{name}.npz", "images", title, source, licence, notes=notes)


TABLE_I = (
    _neon(
        "winer", "Wine: 13 chemical measures of wines of three cultivars.", (178, 13), 6, aliases=("wine",)
    ),
    _neon("seeds", "Seeds: 7 measures of wheat kernels of three varieties.", (210, 7), 6),
    _neon("buddy", "BuddyMove: reviews of places by 249 travellers, in 6 categories.", (249, 6), 7),
    _neon(
        "hepac",
        "HCV data: age and 10 blood values of blood donors and hepatitis C patients.",
        (615, 11),
        8,
        "31 values are missing; preprocess=True replaces them by the column's mean.",
        "The binary attribute sex is in arrays['sex'], the diagnosis is y.",
    ),
    _neon(
        "whlsl",
        "Wholesale customers: yearly spending on 6 kinds of goods.",
        (440, 6),
        8,
        "y is the sales channel; the region is in arrays['region'].",
        "preprocess=True takes logarithms first: the paper does not say so, but with it its numbers are met.",
        counts=True,
    ),
    _neon("trpad", "Travel Reviews: mean ratings by 980 travellers, in 10 categories.", (980, 10), 9),
    _neon(
        "sales",
        "Sales Transactions Weekly: items sold of 811 products in each of 52 weeks.",
        (811, 52),
        6,
        "X has the weekly counts W0 to W51. preprocess=True brings each product to 0..1 first, as the file's "
        "normalised columns do: the paper does not say so, but with it its numbers are met.",
        normalise_rows=True,
    ),
    _neon(
        "water",
        "Water Treatment Plant: 38 daily measures of a plant's inflow and outflow.",
        (527, 38),
        5,
        "591 values are missing; preprocess=True replaces them by the column's mean.",
    ),
    _neon(
        "c2000",
        "US Census 1990: 68 coded attributes of persons.",
        (2000, 68),
        7,
        "Half of the paper's rows: the first 1000 records; how the paper's 2000 were chosen is not said.",
        "18 attributes are binary in these rows and kept by preprocess=True, since the paper has all 68.",
        file="census1990_first1000.npz",
        keep_binary=True,
        aliases=("census", "census1990_first1000"),
    ),
    _neon(
        "news",
        "20 Newsgroups: messages of 20 groups, headers, footers and quotes removed.",
        (250, 300),
        20,
        "preprocess=True draws 250 messages (the paper does not say which) as means of 100-dimensional GloVe "
        "vectors, where the paper has 300-dimensional ones of spaCy.",
        file="news20.jsonl.gz",
        kind="texts",
        aliases=("news20",),
        source="20 Newsgroups, the 'bydate' distribution",
        licence="free for research",
    ),
)

DEEP = (
    _images("mnist", "MNIST: 70,000 handwritten digits, 28 x 28 grey.", "LeCun et al., 1998", "CC BY-SA 3.0"),
    _images("fashion_mnist", "Fashion-MNIST: 70,000 articles of clothing, 28 x 28 grey.", "Zalando", "MIT"),
    _images(
        "usps",
        "USPS: 9,298 handwritten digits of envelopes, 16 x 16 grey.",
        "US Postal Service, as used in The Elements of Statistical Learning",
        "none stated",
        "Raw pixels run from -1 to 1; preprocess=True moves them to 0 to 1.",
    ),
    Entry(
        "pendigits",
        "pendigits.npz",
        "table",
        "Pen digits: 8 points along the pen's way of 10,992 digits.",
        UCI,
        CC_BY,
        notes=("The order of the rows differs between distributions.",),
    ),
    _images(
        "cifar10_test_jpeg",
        "CIFAR-10: its 10,000 test images, 32 x 32 colour.",
        "Krizhevsky, 2009",
        "none stated",
        "The test part only, decoded from lossy JPEG copies; rows are sorted by class.",
    ),
    _images(
        "gtsrb10",
        "GTSRB: 10,000 traffic signs of the ten most frequent classes, 32 x 32 colour.",
        "German Traffic Sign Recognition Benchmark",
        "free for research",
        "The ACe/DeC paper does not name its subset; here are 1000 of each of ten classes, sorted by class.",
    ),
    Entry(
        "reuters21578_top10",
        "reuters21578_top10.jsonl.gz",
        "texts",
        "Reuters-21578: 7,522 news items with one of the ten largest topics.",
        "Reuters-21578, Distribution 1.0",
        "research use only",
        notes=("Not Reuters-10K of the papers, which is drawn from RCV1.",),
        aliases=("reuters",),
    ),
    Entry(
        "news20_raw",
        "news20_raw.jsonl.gz",
        "texts",
        "20 Newsgroups with headers, as in the CM paper's 20News.",
        "20 Newsgroups, the 'bydate' distribution",
        "free for research",
    ),
)

EXPRESSION = (
    _expression("tox171", "TOX-171: 5,748 genes of 171 samples.", "scikit-feature", "GPL-2"),
    _expression(
        "allaml",
        "ALLAML: 7,129 genes of 72 leukaemia samples.",
        "scikit-feature",
        "GPL-2",
        "The IDC paper prints 7192 features; the public set has 7129.",
    ),
    _expression(
        "prostate_ge", "PROSTATE: 5,966 genes of 102 samples.", "scikit-feature", "GPL-2", alias="prostate"
    ),
    _expression(
        "srbct", "SRBCT: 2,308 genes of 83 small round blue cell tumours.", "Khan et al., 2001", "GPL-2"
    ),
    _expression(
        "biase",
        "BIASE: expression in 56 cells of early mouse embryos.",
        "Biase et al., 2014",
        "GPL-2 or later",
        "17,917 genes, where the IDC paper has 25,683.",
        counts=True,
    ),
    _expression(
        "pbmc68k_reduced",
        "PBMC: 765 genes of 700 blood cells, log-normalised.",
        "Zheng et al., 2017",
        "BSD-3-Clause",
        "Not PBMC-2 of the IDC paper: another, smaller set of blood cells.",
    ),
    _expression(
        "pollen",
        "POLLEN: counts of 23,794 genes in 299 cells.",
        "Pollen et al., 2014",
        "MIT",
        "A stand-in for INTESTINE of the IDC paper.",
        counts=True,
    ),
    _expression(
        "mouse_bladder_2100",
        "Mouse bladder: counts of 20,670 genes in 2,100 cells.",
        "scDeepCluster",
        "Apache-2.0",
        "A stand-in for 10x73k of the CM paper.",
        counts=True,
    ),
)

PICTURES = (
    _images(
        "pets_seg",
        "Oxford-IIIT Pet: 148 photos, 224 x 224, with a trimap each (1 animal, 2 background, 3 border).",
        "Visual Geometry Group, Oxford",
        "CC BY-SA 4.0",
    ),
    _images(
        "stl10_seg_examples",
        "STL-10: one photo of each of ten classes, 96 x 96, with its foreground.",
        "Coates et al., 2011",
        "MIT (annotations)",
    ),
    _images(
        "stl10_unlabeled_examples",
        "STL-10: 246 photos of its unlabelled part, 96 x 96.",
        "Coates et al., 2011",
        "MIT (labels)",
        "Not the part of the data that the NEON paper clusters.",
    ),
    Entry(
        "voc2011_labelme3",
        "voc2011_labelme3.npz",
        "arrays",
        "PASCAL VOC 2011: three photos with masks, of different sizes.",
        "labelme",
        "GPL-3",
        notes=("The masks are not the official ones.",),
    ),
    Entry(
        "glove100_news20",
        "glove100_news20.npz",
        "arrays",
        "GloVe: 100-dimensional vectors of the 56,813 words of 20 Newsgroups.",
        "Pennington et al., 2014 (6B tokens)",
        "PDDL 1.0",
    ),
    Entry(
        "squeezenet1_0_imagenet",
        "squeezenet1_0_imagenet.npz",
        "arrays",
        "SqueezeNet 1.0: weights of an image network trained on ImageNet.",
        "Han et al., 2016 (pruned, 8 bit)",
        "BSD",
    ),
)

ENTRIES = {entry.name: entry for entry in (*TABLE_I, *DEEP, *EXPRESSION, *PICTURES)}
NAMES = {alias: entry.name for entry in ENTRIES.values() for alias in (entry.name, *entry.aliases)}


def entry_of(name: str) -> Entry:
    """The entry of a name or alias, in any case and with hyphens or underscores."""
    key = str(name).lower().replace("-", "_")
    if key not in NAMES:
        import difflib

        near = difflib.get_close_matches(key, NAMES, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"expected one of {', '.join(ENTRIES)}."
        raise ValueError(f"There is no data set named {name!r}: {hint}")
    return ENTRIES[NAMES[key]]
