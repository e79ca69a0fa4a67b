"""The estimator protocol: base classes, registry, parameters, progress, links; intervals, explanations, inspection."""
