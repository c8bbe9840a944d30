"""Make bookings.csv: 400 invented bookings of holiday homes of four kinds, as people write tables.

The mess is on purpose: currency signs and thousands separators, percent signs, units, dates as text, yes and
no in words, missing values spelt in two ways, an id that repeats, post codes, ranks, a column that never
changes, a column of many words, skewed amounts, and one row that is wrong. The kinds are not in the file.
"""

from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pandas as pd

N_ROWS = 400
# price of the stay, nights, guests, km from home, days ahead, discount, share with a dog, first day, stars
KINDS = [
    (380, 2, 2, 90, 12, 0.02, 0.10, 60, 3),  # weekends in town
    (2_400, 14, 5, 850, 190, 0.12, 0.30, 190, 4),  # families in summer
    (1_100, 6, 2, 380, 60, 0.20, 0.75, 280, 2),  # walkers with a dog
    (5_600, 7, 8, 620, 300, 0.00, 0.05, 10, 5),  # groups in the snow
]


def make(seed: int = 11) -> pd.DataFrame:
    """Return the table, as text."""
    generator = np.random.default_rng(seed)
    kinds = generator.permutation(np.repeat(np.arange(len(KINDS)), N_ROWS // len(KINDS)))
    price, nights, guests, far, ahead, discount, dog, day, stars = np.array(KINDS, dtype=float)[kinds].T
    prices = price * generator.lognormal(0.0, 0.25, N_ROWS)
    prices[123] *= 1_000  # pence taken for pounds, and more
    length = np.maximum(1, np.rint(generator.normal(nights, 0.15 * nights + 0.3))).astype(int)
    people = np.maximum(1, np.rint(generator.normal(guests, 0.7))).astype(int)
    distance = np.maximum(3, generator.normal(far, 0.2 * far)).astype(int)
    days = np.maximum(0, generator.normal(ahead, 0.2 * ahead + 3)).astype(int)
    share = np.clip(generator.normal(discount, 0.02, N_ROWS), 0, 0.5)
    first = (day + generator.normal(0, 14, N_ROWS)).astype(int) % 365
    towns = [f"{name} {place}" for name in ("Upper", "Lower", "New", "Old") for place in _places()]
    codes = generator.integers(1_000, 99_999, 120)
    table = pd.DataFrame(
        {
            # A booking of several homes has one number.
            "booking": [f"B-{number:05d}" for number in np.sort(generator.integers(10_000, 10_320, N_ROWS))],
            "arrival": [f"{date(2024, 1, 1) + timedelta(days=int(one)):%d.%m.%Y}" for one in first],
            "price": [f"£{one:,.2f}" for one in prices],
            "discount": [f"{100 * one:.1f}%" for one in share],
            "nights": length.astype(str),
            "guests": people.astype(str),
            "distance": [f"{one} km" for one in distance],
            "days_ahead": days.astype(str),
            "dog": np.where(generator.random(N_ROWS) < dog, "yes", "no"),
            "post_code": [f"{one:05d}" for one in generator.choice(codes, N_ROWS)],
            "stars": np.clip(np.rint(generator.normal(stars, 0.5)), 1, 5).astype(int).astype(str),
            "town": generator.choice(towns, N_ROWS),
            "currency": "GBP",
        }
    )
    for name, spelt in (("discount", "n/a"), ("distance", "-"), ("guests", "n/a"), ("dog", "-")):
        table.loc[generator.choice(N_ROWS, 12, replace=False), name] = spelt
    table.loc[:, "rank"] = (pd.Series(prices).rank(ascending=False, method="first")).astype(int).astype(str)
    return table


def _places() -> list[str]:
    return ["Ashby", "Brook", "Croft", "Dale", "Elm", "Firth", "Glen", "Holt", "Inch", "Kirk"]


if __name__ == "__main__":
    make().to_csv(Path(__file__).with_name("bookings.csv"), index=False)
