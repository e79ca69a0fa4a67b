"""Partitions in this process."""

import itertools
import math
import pickle

import numpy as np

from rffkern._training.distributed.partition import Partition

from .families import same_state


class LocalPartitions:
    """A backend whose partitions are here.

    `lost` has numbers of questions before which a partition is lost and opened anew; with `travels`, partitions are
    pickled before each question.
    """

    def __init__(self, pieces, what="", has_labels=True, lost=(), travels=False, memory=math.inf):
        self._pieces = [(number, what, has_labels, 1, *(*piece, None)[:3]) for number, piece in enumerate(pieces)]
        self._travels, self._lost = travels, set(lost)
        self._opened = [Partition(*piece) for piece in self._pieces]
        self.memory = memory  # bytes that this process may have
        self.n_bytes = []  # that each question and its answers take

    def solve(self, learners):
        return (learner.solve() for learner in learners)

    def __len__(self):
        return len(self._opened)

    def run(self, request, which):
        n_questions = len(self.n_bytes) + 1
        if n_questions in self._lost:
            number = which[n_questions % len(which)]
            self._opened[number] = Partition(*self._pieces[number])
        if self._travels:
            self._opened = [pickle.loads(pickle.dumps(partition)) for partition in self._opened]
        answers = [self._opened[number].answer(*request) for number in which]
        self.n_bytes.append(len(which) * len(pickle.dumps(request)) + len(pickle.dumps(answers)))
        return answers


def cut(edges, *columns):
    """Pieces of rows between edges, of columns that belong together."""
    return [tuple(None if column is None else column[start:stop] for column in columns)
            for start, stop in itertools.pairwise(edges)]


def edges_of(n_rows, n_parts, rng):
    """Edges of parts of random sizes."""
    return [0, *np.sort(rng.choice(np.arange(1, n_rows), n_parts - 1, replace=False)).tolist(), n_rows]


def same(one, other):
    """Whether two models have the same terms and losses, to the last bit."""
    return same_state(one, other) and np.array_equal(one.train_loss_, other.train_loss_)
