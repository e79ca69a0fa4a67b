"""The boosting loop: rounds of weak learners and steps for every output (Algorithm 1)."""


def boost(outputs, eval_outputs, fit_learner, learning_rate, monitor):
    """Boost all outputs round by round.

    Parameters
    ----------
    outputs, eval_outputs : lists of loss states, one per output; eval_outputs may be empty
    fit_learner : callable (state, round index, output index) -> CosineSum
    learning_rate : factor on each step
    monitor : Monitor

    Returns
    -------
    list over rounds of a list over outputs of (CosineSum, step)
    """
    rounds = []
    go_on = monitor.record(_mean_loss(outputs), _mean_loss(eval_outputs))
    while go_on:
        this_round = []
        for k, state in enumerate(outputs):
            learner = fit_learner(state, len(rounds), k)
            step = learning_rate * state.best_step(learner)
            state.boost(step)
            for held_out in eval_outputs[k : k + 1]:
                held_out.agreement(learner)
                held_out.boost(step)
            this_round.append((learner, step))
        rounds.append(this_round)
        go_on = monitor.record(_mean_loss(outputs), _mean_loss(eval_outputs))
    return rounds


def _mean_loss(outputs):
    return sum(state.loss for state in outputs) / len(outputs) if outputs else None
