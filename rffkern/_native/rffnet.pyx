"""Kernels of RFFNet: losses, and steps over batches of rows."""

include "network/losses.pyx"
include "network/batches.pyx"
