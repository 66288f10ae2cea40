"""Words as vectors, TensorFlow 1.x's way: skip-grams, and a loss over a few words of many.

    python examples/tf1_word2vec.py                      # of invented sentences
    python examples/tf1_word2vec.py --text=corpus.txt --vocabulary_size=20000

Each word is to tell its neighbours from words that were drawn (Mikolov et al. 2013). With `import
tensorflow.compat.v1 as tf` it is a script for TensorFlow.
"""

from __future__ import annotations

import collections

import numpy as np

import hybridnet.compat.tf1 as tf

flags = tf.app.flags
flags.DEFINE_string("text", None, "a file of words; default invented ones")
flags.DEFINE_integer("vocabulary_size", 200, "how many words to tell apart")
flags.DEFINE_integer("embedding_size", 16, "of the vectors")
flags.DEFINE_integer("skip_window", 2, "how many words before and after are neighbours")
flags.DEFINE_integer("num_sampled", 16, "how many words are drawn in a step")
flags.DEFINE_integer("batch_size", 128, "pairs of words in a step")
flags.DEFINE_integer("steps", 2000, "how many to make")
FLAGS = flags.FLAGS
#: What the invented sentences are about: each about one of these.
TOPICS = {
    "sea": ["ship", "sail", "wave", "harbour", "captain", "anchor", "tide", "storm"],
    "kitchen": ["pan", "oven", "salt", "butter", "knife", "soup", "bread", "sugar"],
    "forest": ["tree", "leaf", "moss", "deer", "path", "owl", "branch", "root"],
    "city": ["street", "tram", "tower", "square", "market", "bridge", "lamp", "crowd"],
}


def words() -> list[str]:
    """Returns the text, word by word."""
    if FLAGS.text:
        with tf.gfile.GFile(FLAGS.text) as file:
            return file.read().lower().split()
    draw = np.random.default_rng(0)
    topics = [TOPICS[name] for name in draw.choice(list(TOPICS), size=2500)]
    return [word for topic in topics for word in draw.choice(topic, size=8)]


def numbered(text: list[str]) -> tuple[np.ndarray, list[str]]:
    """Returns words as numbers, the most frequent first, and what the numbers stand for."""
    counted = collections.Counter(text).most_common(FLAGS.vocabulary_size - 1)
    known = ["UNK", *(word for word, _ in counted)]
    places = {word: number for number, word in enumerate(known)}
    return np.array([places.get(word, 0) for word in text]), known


def main(_: list[str]) -> None:
    """Trains the vectors, and prints which are near each other."""
    text, known = numbered(words())
    count, size = len(known), FLAGS.embedding_size
    with tf.Graph().as_default():
        tf.set_random_seed(1)
        inputs = tf.placeholder(tf.int32, [FLAGS.batch_size])
        labels = tf.placeholder(tf.int32, [FLAGS.batch_size, 1])
        embeddings = tf.Variable(tf.random_uniform([count, size], -1.0, 1.0))
        embedded = tf.nn.embedding_lookup(embeddings, inputs)
        nce_weights = tf.Variable(tf.truncated_normal([count, size], stddev=size**-0.5))
        nce_biases = tf.Variable(tf.zeros([count]))
        loss = tf.reduce_mean(
            tf.nn.nce_loss(
                weights=nce_weights,
                biases=nce_biases,
                labels=labels,
                inputs=embedded,
                num_sampled=FLAGS.num_sampled,
                num_classes=count,
            )
        )
        train = tf.train.GradientDescentOptimizer(1.0).minimize(loss)
        norm = tf.sqrt(tf.reduce_sum(tf.square(embeddings), 1, keepdims=True))
        normalized = embeddings / norm
        likeness = tf.matmul(normalized, normalized, transpose_b=True)

        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            draw, total, near = np.random.default_rng(0), 0.0, FLAGS.skip_window
            for step in range(1, FLAGS.steps + 1):
                middle = draw.integers(near, len(text) - near, size=FLAGS.batch_size)
                away = draw.integers(1, near + 1, size=FLAGS.batch_size)
                away *= draw.choice([-1, 1], size=FLAGS.batch_size)
                feeds = {inputs: text[middle], labels: text[middle + away][:, None]}
                _, value = session.run([train, loss], feeds)
                total += float(value)
                if step % 500 == 0:
                    print(f"step {step}: loss {total / 500:.3f}")
                    total = 0.0
            found = session.run(likeness)
    nearest = [[known[one] for one in np.argsort(-row)[1:4]] for row in found]
    for number in range(1, min(count, 6)):
        print(f"near {known[number]}: {', '.join(nearest[number])}")
    if not FLAGS.text:
        topic_of = {word: name for name, topic in TOPICS.items() for word in topic}
        pairs = [(a, b) for a, near_it in zip(known, nearest, strict=True) for b in near_it]
        same = [topic_of[a] == topic_of[b] for a, b in pairs if a in topic_of and b in topic_of]
        print(f"of one topic: {np.mean(same):.2f}")


if __name__ == "__main__":
    tf.app.run()
