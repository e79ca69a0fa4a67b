"""RFFNet as its authors train it, with PyTorch's autograd and optimisers: one thread, float32."""

import math
import time
from typing import NamedTuple

import numpy as np

EVALUATED_ROWS = 1024  # at a time, so that their features stay in cache


class Trained(NamedTuple):
    """Validation loss after each epoch, and CPU seconds from the start of training until then."""

    eval_loss: np.ndarray
    seconds: np.ndarray

    @property
    def best(self):
        return int(self.eval_loss.argmin())


class RFFNetTwin:
    """What both forms of training share; a subclass has the start of the relevances, the amplitude and the step.

    Both draw the coefficients uniformly within 1 / sqrt(s), take the proximal step after Adam's with its learning rate,
    and leave out the rows that do not fill a batch.
    """

    def __init__(self, n_components, learning_rate=1e-3, reg_lambda=1e-4, batch_size=32, max_epochs=100,
                 early_stopping_rounds=10, loader=False, seed=0):
        self.n_components, self.learning_rate, self.reg_lambda = n_components, learning_rate, reg_lambda
        self.batch_size, self.max_epochs, self.early_stopping_rounds = batch_size, max_epochs, early_stopping_rounds
        self.loader, self.seed = loader, seed

    def prepare(self, X, y):
        """Draw the features and the start of all that is learned."""
        import torch

        torch.set_num_threads(1)
        torch.manual_seed(self.seed)
        self.X, self.y = as_tensor(X), as_tensor(y)
        n_features, s = X.shape[1], self.n_components
        self.omegas, self.offsets = torch.randn(n_features, s), 2 * math.pi * torch.rand(s)
        self.relevances = self.first_relevances().requires_grad_()
        self.beta = ((2 * torch.rand(s) - 1) / math.sqrt(s)).requires_grad_()
        self.optimisers = [torch.optim.Adam(learned, lr=self.learning_rate, fused=True) for learned in self.groups()]
        self.shrinkage = 1 / (1 + 2 * self.learning_rate * self.reg_lambda)
        return self

    def features(self, rows):
        """Cosines, without their amplitude."""
        import torch

        return torch.addmm(self.offsets, rows * self.relevances, self.omegas).cos()

    def loss(self, features, beta, targets):
        import torch

        return torch.nn.functional.mse_loss(self.output(features, beta), targets)

    def shrink(self):
        """The proximal step of mu |beta|^2."""
        self.beta.detach().mul_(self.shrinkage)

    def batches(self):
        """Shuffled batches of equal size: slices of one shuffled copy, or what a DataLoader gathers row by row."""
        import torch

        if self.loader:
            rows = torch.utils.data.TensorDataset(self.X, self.y)
            return torch.utils.data.DataLoader(rows, self.batch_size, shuffle=True, drop_last=True)
        order = torch.randperm(len(self.y))[: len(self.y) // self.batch_size * self.batch_size]
        return zip(self.X[order].split(self.batch_size), self.y[order].split(self.batch_size), strict=True)

    def epoch(self):
        """Pass over the rows once."""
        for rows, targets in self.batches():
            self.step(rows, targets)

    def scores(self, X):
        """Values of the network at the rows of a tensor."""
        import torch

        with torch.no_grad():
            return torch.cat([self.output(self.features(rows), self.beta) for rows in X.split(EVALUATED_ROWS)])

    def fit(self, X, y, X_eval, y_eval):
        """Train until the validation loss has not fallen for so many epochs, and keep what had the lowest."""
        import torch

        started = time.process_time()
        self.prepare(X, y)
        X_eval, y_eval = as_tensor(X_eval), as_tensor(y_eval)
        losses, seconds = [], []
        while len(losses) < self.max_epochs:
            self.epoch()
            losses.append(torch.nn.functional.mse_loss(self.scores(X_eval), y_eval).item())
            seconds.append(time.process_time() - started)
            best = int(np.argmin(losses))
            if best == len(losses) - 1:
                kept = self.beta.detach().clone(), self.relevances.detach().clone()
            elif len(losses) - 1 - best >= self.early_stopping_rounds:
                break
        self.beta, self.relevances = kept
        return Trained(np.array(losses), np.array(seconds))


class JointTwin(RFFNetTwin):
    """The authors' later code: one Adam for both, no amplitude sqrt(2 / s).

    Relevances start at the range of their columns over the number of columns.
    """

    def first_relevances(self):
        return (self.X.amax(0) - self.X.amin(0)) / self.X.shape[1]

    def groups(self):
        return [[self.beta, self.relevances]]

    def output(self, features, beta):
        return features @ beta

    def step(self, rows, targets):
        import torch

        loss = self.loss(self.features(rows), self.beta, targets)
        self.beta.grad, self.relevances.grad = torch.autograd.grad(loss, (self.beta, self.relevances))
        self.optimisers[0].step()
        self.shrink()


class AlternatingTwin(RFFNetTwin):
    """Algorithm 1 of the paper: steps on the coefficients and on the relevances in turn; relevances start at 0."""

    def first_relevances(self):
        import torch

        return torch.zeros(self.X.shape[1])

    def groups(self):
        return [[self.beta], [self.relevances]]

    def output(self, features, beta):
        return math.sqrt(2 / self.n_components) * (features @ beta)

    def step(self, rows, targets):
        """Both steps use the same features, which do not depend on the coefficients: they are computed once."""
        import torch

        features = self.features(rows)
        loss = self.loss(features.detach(), self.beta, targets)
        (self.beta.grad,) = torch.autograd.grad(loss, self.beta)
        self.optimisers[0].step()
        self.shrink()
        (self.relevances.grad,) = torch.autograd.grad(self.loss(features, self.beta.detach(), targets),
                                                      self.relevances)
        self.optimisers[1].step()


TWINS = {"joint": JointTwin, "alternating": AlternatingTwin}


def as_tensor(array):
    import torch

    return torch.from_numpy(np.ascontiguousarray(array, np.float32))
