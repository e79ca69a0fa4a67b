"""RFFNet as its authors train it, on PyTorch's autograd and optimisers, for `bench.py`: one thread, float32."""

import math
import time
from typing import NamedTuple

import numpy as np

EVALUATED_ROWS = 1024  # at a time, whose features stay in cache


class Trained(NamedTuple):
    """Validation loss after each epoch, CPU seconds from the start of training until then, and the function learned."""

    eval_loss: np.ndarray
    seconds: np.ndarray
    predict: object  # of rows as an array

    @property
    def best(self):
        return int(self.eval_loss.argmin())


class RFFNetTwin:
    """Squared error; "joint" steps by one Adam, as in the authors' later code, or the paper's "alternating" ones.

    The later code has no sqrt(2 / s) on the features, and starts relevances at the range of their columns over the
    number of columns; the earlier one starts them at 0.  Both draw the coefficients uniformly within 1 / sqrt(s), take
    the proximal step after Adam's, by its learning rate, and drop the rows that fill no batch.
    """

    def __init__(self, form, n_components, learning_rate=1e-3, reg_lambda=1e-4, batch_size=32, max_epochs=100,
                 patience=10, loader=False, seed=0):
        self.form, self.n_components = form, n_components
        self.learning_rate, self.reg_lambda, self.batch_size = learning_rate, reg_lambda, batch_size
        self.max_epochs, self.patience, self.loader, self.seed = max_epochs, patience, loader, seed

    def prepare(self, X, y):
        """Draw the features, and set all that is learned to where it starts."""
        import torch

        torch.set_num_threads(1)
        torch.manual_seed(self.seed)
        self.X, self.y = as_tensor(X), as_tensor(y)
        n_features, s = X.shape[1], self.n_components
        self.omegas, self.offsets = torch.randn(n_features, s), 2 * math.pi * torch.rand(s)
        joint = self.form == "joint"
        self.amplitude = None if joint else math.sqrt(2 / s)
        start = (self.X.amax(0) - self.X.amin(0)) / n_features if joint else torch.zeros(n_features)
        self.relevances = start.clone().requires_grad_()
        self.beta = ((2 * torch.rand(s) - 1) / math.sqrt(s)).requires_grad_()
        blocks = [[self.beta, self.relevances]] if joint else [[self.beta], [self.relevances]]
        self.optimisers = [torch.optim.Adam(block, lr=self.learning_rate, fused=True) for block in blocks]
        self.step = self.joint_step if joint else self.alternating_step
        self.shrinkage = 1 / (1 + 2 * self.learning_rate * self.reg_lambda)
        return self

    def features(self, rows):
        """Cosines, without their amplitude."""
        import torch

        return torch.addmm(self.offsets, rows * self.relevances, self.omegas).cos()

    def output(self, features, beta):
        values = features @ beta
        return values if self.amplitude is None else self.amplitude * values

    def loss(self, features, beta, targets):
        import torch

        return torch.nn.functional.mse_loss(self.output(features, beta), targets)

    def shrink(self):
        """The proximal step of mu |beta|^2."""
        self.beta.detach().mul_(self.shrinkage)

    def joint_step(self, rows, targets):
        import torch

        loss = self.loss(self.features(rows), self.beta, targets)
        self.beta.grad, self.relevances.grad = torch.autograd.grad(loss, (self.beta, self.relevances))
        self.optimisers[0].step()
        self.shrink()

    def alternating_step(self, rows, targets):
        """Both blocks see the same features, which do not depend on the coefficients: they are computed once."""
        import torch

        features = self.features(rows)
        loss = self.loss(features.detach(), self.beta, targets)
        (self.beta.grad,) = torch.autograd.grad(loss, self.beta)
        self.optimisers[0].step()
        self.shrink()
        (self.relevances.grad,) = torch.autograd.grad(self.loss(features, self.beta.detach(), targets),
                                                      self.relevances)
        self.optimisers[1].step()

    def batches(self):
        """Shuffled batches of equal size: parts of one shuffled copy, or what a DataLoader gathers row by row."""
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
        """Train until the validation loss has not fallen for so many epochs, and go back to where it was lowest."""
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
            elif len(losses) - 1 - best >= self.patience:
                break
        self.beta, self.relevances = kept
        return Trained(np.array(losses), np.array(seconds), lambda rows: self.scores(as_tensor(rows)).numpy())


def as_tensor(array):
    import torch

    return torch.from_numpy(np.ascontiguousarray(array, np.float32))
