"""Sockeye 2: a transformer trained with its checkpoint decoder, and translations by beam search."""

import json
import sys

import numpy as np
from drive import STEPS, draw_alike, losses, main

draw_alike(seed=3)
import sockeye.train  # noqa: E402
import sockeye.translate  # noqa: E402

WORDS = "a the red blue old new cat dog house tree sees likes has finds no".split()
SIZES = """--num-layers 1 --transformer-model-size 16 --transformer-attention-heads 2
--transformer-feed-forward-num-hidden 32 --transformer-dropout-attention 0
--transformer-dropout-act 0 --transformer-dropout-prepost 0 --embed-dropout 0 --batch-type sentence
--batch-size 16 --max-seq-len 12 --checkpoint-interval 10 --decode-and-evaluate 20 --use-cpu
--num-words 50 --initial-learning-rate 0.03 --seed 5 --no-bucketing
--max-num-checkpoint-not-improved 5"""


def write_data(folder):
    drawn = np.random.RandomState(4)
    for part, count in (("train", 16 * STEPS), ("valid", 40)):
        lines = [list(drawn.choice(WORDS, drawn.randint(3, 9))) for _ in range(count)]
        (folder / f"{part}.source").write_text("".join(" ".join(line) + "\n" for line in lines))
        (folder / f"{part}.target").write_text(
            "".join(" ".join(line[::-1]) + "\n" for line in lines)
        )


def run(program, arguments):
    sys.argv = [program.__name__, *map(str, arguments)]
    program.main()


def translations(folder):
    out = folder / "translated"
    run(
        sockeye.translate,
        ["--models", folder / "model", "--input", folder / "valid.source", "--output", out]
        + "--output-type json --beam-size 3 --use-cpu --batch-size 8".split(),
    )
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    words = [len(word) for line in lines for word in line["translation"].split()]
    return {"scores": [line["score"] for line in lines], "words": words}


def train(folder):
    write_data(folder)
    with losses(STEPS + 1) as seen:
        run(
            sockeye.train,
            ["--source", folder / "train.source", "--target", folder / "train.target"]
            + ["--validation-source", folder / "valid.source"]
            + ["--validation-target", folder / "valid.target", "--output", folder / "model"]
            + ["--max-updates", STEPS, "--min-updates", STEPS, *SIZES.split()],
        )
    return seen, translations(folder)


def read(folder):
    return translations(folder)


if __name__ == "__main__":
    main(train, read)
