"""Write the small tables that the pages of docs/ train and predict with: python examples/tables.py

Customers who left or stayed (a class), prices of houses (a number), and sales of the days of a year (in order of time).
"""

import csv

import numpy as np

rng = np.random.default_rng(0)


def write(name, columns):
    """A file of these columns, with empty cells for numbers that are nan."""
    with open(name, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        for row in zip(*columns.values(), strict=True):
            writer.writerow("" if cell != cell else cell for cell in row)


def customers(n):
    """Who is new, of plan c and calls often leaves: about one of four; a tenth of the ages is missing."""
    days, plan, calls = rng.integers(0, 1000, n), rng.choice(["a", "b", "c"], n), rng.poisson(2, n)
    age = np.where(rng.random(n) < 0.1, np.nan, rng.integers(18, 80, n))
    left = rng.random(n) < 1 / (1 + np.exp(days / 150 - calls - 1.5 * (plan == "c") + 1))
    return {"since": np.datetime64("2023-01-01") - days, "plan": plan, "age": age, "calls": calls,
            "left": np.where(left, "yes", "no")}


def houses(n):
    """The price grows with the area, more so in the city, and falls with the age."""
    area, built, city = rng.integers(40, 200, n), rng.integers(1900, 2024, n), rng.choice(["yes", "no"], n)
    price = 2000 * area * np.where(city == "yes", 1.5, 1) - 500 * (2024 - built)
    return {"area": area, "built": built, "city": city, "price": np.round(price * rng.lognormal(0, 0.1, n), -2)}


def sales(n):
    """More is sold where it is warm, and on Saturdays."""
    day = np.arange(n)
    warm = np.round(15 - 10 * np.cos(day / 58) + rng.normal(0, 3, n), 1)
    sold = rng.poisson(10 + warm + 20 * (day % 7 == 6))
    return {"day": np.datetime64("2023-01-01") + day, "warm": warm, "sold": sold}


write("customers.csv", customers(300))
write("new_customers.csv", customers(100))
write("asking.csv", customers(3))
write("houses.csv", houses(300))
write("new_houses.csv", houses(100))
write("sales.csv", sales(365))
