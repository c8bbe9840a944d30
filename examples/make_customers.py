"""Make customers.csv: 240 invented customers of three kinds, with gaps, categories and an id."""

from pathlib import Path

import numpy as np
import pandas as pd

generator = np.random.default_rng(7)
kinds = [
    # age, income, visits a month, basket, regions, share of members
    (27, 24_000, 9.0, 18.0, ["city", "suburb"], 0.2),
    (46, 61_000, 3.0, 95.0, ["suburb", "country"], 0.9),
    (68, 33_000, 6.0, 42.0, ["country", "suburb"], 0.5),
]
rows = []
for age, income, visits, basket, regions, members in kinds:
    for _ in range(80):
        rows.append(
            {
                "age": int(np.clip(generator.normal(age, 5), 18, 95)),
                "income": round(generator.normal(income, 5_000), -2),
                "visits_per_month": round(max(0.0, generator.normal(visits, 1.0)), 1),
                "basket": round(max(1.0, generator.normal(basket, 10.0)), 2),
                "region": generator.choice(regions, p=[0.8, 0.2]),
                "member": "yes" if generator.random() < members else "no",
            }
        )
table = pd.DataFrame(rows).sample(frac=1, random_state=7).reset_index(drop=True)
table.insert(0, "customer", [f"C{number:04d}" for number in range(1, len(table) + 1)])
table.loc[generator.choice(len(table), 6, replace=False), "income"] = np.nan
table.loc[generator.choice(len(table), 3, replace=False), "region"] = None
table.to_csv(Path(__file__).with_name("customers.csv"), index=False)
