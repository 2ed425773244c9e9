"""Autocovariance of chains: series enter, their covariance at every lag, averaged over chains, leaves."""

from __future__ import annotations

import functools

import numpy as np

from consilience.diagnostics.sample import FloatArray


@functools.lru_cache(maxsize=64)
def fast_length(least: int) -> int:
    """Smallest even number 2^a 3^b 5^c not below `least`: a length that Fourier transforms do fast."""
    best = 2
    while best < least:
        best *= 2
    five = 2
    while five < best:
        three = five
        while three < best:
            number = three
            while number < least:
                number *= 2
            best = min(best, number)
            three *= 3
        five *= 5
    return best


def mean_autocovariance(chains: FloatArray) -> FloatArray:
    """Autocovariance (parameter, lag) of (parameter, chain, draw), lags 0 to draw - 1, mean over the chains.

    The sum of products at each lag is divided by the number of draws, not of products, which keeps the
    estimate positive definite. Transforms are of twice the length, so that the ends do not meet; those of
    the chains are added before the way back, which therefore is done once.
    """
    draws = chains.shape[2]
    length = fast_length(2 * draws)
    spectrum = np.fft.rfft(chains - chains.mean(axis=2, keepdims=True), n=length, axis=2)
    power = np.square(spectrum.real).sum(axis=1) + np.square(spectrum.imag).sum(axis=1)
    covariance: FloatArray = np.fft.irfft(power, n=length, axis=1)[:, :draws]
    covariance /= draws * chains.shape[1]
    return covariance
