"""Examples for `--help`, which a test runs as they stand."""

from __future__ import annotations

# By command: what is shown, and what it is for. The table comes with the code.
EXAMPLES = {
    "explain": (
        ("whyclust explain examples/customers.csv", "choose the number of clusters, too"),
        (
            "whyclust explain examples/customers.csv -k 3 --id-column customer",
            "three clusters, and rows that are called by a column",
        ),
        (
            "whyclust explain examples/customers.csv --labels region --out regions",
            "why rows have the labels of a column",
        ),
    ),
    "audit": (
        ("whyclust audit examples/customers.csv -k 3", "explain, and tell whether it can be trusted"),
        ("whyclust audit examples/customers.csv -k 5 --out five", "are there five clusters?"),
        (
            "whyclust audit examples/customers.csv -k 3 --columns age,income,basket",
            "as told by some of the columns",
        ),
    ),
    "demo": (
        ("whyclust demo", "wines, with a report in demo-result"),
        ("whyclust demo --out wines", "in a folder of your own"),
        ("whyclust demo --out wines --quiet", "without a word"),
    ),
}


def help_of(command: str) -> str:
    """The examples of a command, for the end of its help page."""
    shown = [f"{example}\n\n   {what}" for example, what in EXAMPLES[command]]
    return "\n\n".join(["Examples:", *shown])
