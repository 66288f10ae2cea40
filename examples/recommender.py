"""What somebody will like: users and films as vectors whose product is the rating.

    python examples/recommender.py                         # ratings of invented users
    python examples/recommender.py --ratings u.data        # MovieLens 100K: user, item, rating

Matrix factorization with biases (Koren, Bell and Volinsky 2009), written as a symbol and trained by
`Module`. Printed is the root of the mean square error on ratings that were not trained on.
"""

from __future__ import annotations

import argparse

import numpy as np

import hybridnet as mx
from hybridnet import sym


def invented(users: int, films: int, count: int) -> np.ndarray:
    """Rows of user, film, rating: tastes of four kinds, and noise."""
    draw = np.random.default_rng(0)
    of_user, of_film = draw.normal(size=(users, 4)), draw.normal(size=(films, 4))
    who, what = draw.integers(users, size=count), draw.integers(films, size=count)
    liked = (of_user[who] * of_film[what]).sum(axis=1) / 2 + 3
    return np.stack([who, what, liked + draw.normal(0, 0.2, count)], axis=1).astype("float32")


def factorization(users: int, films: int, length: int) -> sym.Symbol:
    """The network: the error of a rating, by a user, of a film."""
    of = {"user": (sym.var("user"), users), "film": (sym.var("film"), films)}

    def vector(name: str, size: int) -> sym.Symbol:
        rows, count = of[name]
        return sym.Embedding(rows, input_dim=count, output_dim=size, name=f"{name}_vector{size}")

    product = vector("user", length) * vector("film", length)
    rating = sym.sum(product, axis=1)
    for name in of:
        rating = rating + sym.reshape(vector(name, 1), shape=(-1,))
    return sym.LinearRegressionOutput(rating + 3, sym.var("rating"), name="out")


def main() -> None:
    """Reads the options, trains, and prints how it goes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ratings", help="a file with user, item and rating in each line")
    parser.add_argument("--users", type=int, default=300)
    parser.add_argument("--films", type=int, default=200)
    parser.add_argument("--count", type=int, default=20000, help="of invented ratings")
    parser.add_argument("--length", type=int, default=8, help="of the vectors")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch", type=int, default=200)
    parser.add_argument("--rate", type=float, default=0.01)
    options = parser.parse_args()

    mx.random.seed(0)
    if options.ratings:
        rows = np.loadtxt(options.ratings, usecols=(0, 1, 2), dtype="float32")
        np.random.default_rng(0).shuffle(rows)
    else:
        rows = invented(options.users, options.films, options.count)
    users, films = (int(rows[:, column].max()) + 1 for column in (0, 1))
    cut = len(rows) * 9 // 10

    def batches(part: np.ndarray, shuffle: bool) -> mx.io.NDArrayIter:
        return mx.io.NDArrayIter(
            {"user": part[:, 0], "film": part[:, 1]},
            {"rating": part[:, 2]},
            options.batch,
            shuffle=shuffle,
            last_batch_handle="discard",
        )

    train, test = batches(rows[:cut], True), batches(rows[cut:], False)
    module = mx.mod.Module(
        factorization(users, films, options.length),
        data_names=("user", "film"),
        label_names=("rating",),
    )
    module.bind(train.provide_data, train.provide_label)
    module.init_params(mx.init.Normal(0.1))
    module.init_optimizer(optimizer="adam", optimizer_params={"learning_rate": options.rate})
    for epoch in range(options.epochs):
        train.reset()
        for batch in train:
            module.forward_backward(batch)
            module.update()
        ((_, error),) = module.score(test, "rmse")
        print(f"epoch {epoch}: RMSE {error:.3f}")


if __name__ == "__main__":
    main()
