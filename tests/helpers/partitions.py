"""Partitions in this process."""

import itertools
import pickle

import numpy as np

from rffkern._training.distributed.partition import open_partition


class LocalPartitions:
    """An engine whose partitions are here.

    `lost` has numbers of questions before which a partition is lost and opened anew; with `travels`, partitions are
    pickled before each question.
    """

    def __init__(self, pieces, what="", has_labels=True, lost=(), travels=False):
        self._pieces = [(*piece, None)[:3] for piece in pieces]
        self._what, self._has_labels, self._travels = what, has_labels, travels
        self._numbers, self._lost = list(range(len(pieces))), set(lost)
        self._opened = [self._open(number) for number in self._numbers]
        self.n_questions = 0
        self.n_bytes = []  # that each question and its answers take

    def _open(self, number):
        return open_partition(number, self._what, self._has_labels, 1, *self._pieces[number])

    def __len__(self):
        return len(self._opened)

    def keep(self, which):
        self._opened, self._numbers = [self._opened[k] for k in which], [self._numbers[k] for k in which]

    def run(self, request, which):
        self.n_questions += 1
        if self.n_questions in self._lost:
            place = self.n_questions % len(self._opened)
            self._opened[place] = self._open(self._numbers[place])
        if self._travels:
            self._opened = [pickle.loads(pickle.dumps(partition)) for partition in self._opened]
        answers = [self._opened[k].answer(request) for k in which]
        self.n_bytes.append(len(which) * len(pickle.dumps(request)) + len(pickle.dumps(answers)))
        return answers


def cut(edges, *columns):
    """Pieces of rows between edges, of columns that belong together."""
    return [tuple(None if column is None else column[start:stop] for column in columns)
            for start, stop in itertools.pairwise(edges)]


def edges_of(n_rows, n_parts, rng):
    """Edges of parts of random sizes."""
    return [0, *np.sort(rng.choice(np.arange(1, n_rows), n_parts - 1, replace=False)).tolist(), n_rows]
