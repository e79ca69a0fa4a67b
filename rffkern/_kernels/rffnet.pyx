"""Kernels of RFFNet: losses, and steps over batches of rows."""

include "rffnet_losses.pyx"
include "rffnet_batches.pyx"
