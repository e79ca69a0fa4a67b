"""Fourier boosting: bags that add Fourier terms, trees and linear terms, sampled by what they gain."""
