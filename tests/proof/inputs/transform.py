"""Parallel Fourier transform of mpi4py-fft, there and back."""

import numpy
from mpi4py import MPI
from mpi4py_fft import PFFT, newDistArray

fft = PFFT(MPI.COMM_WORLD, (24, 20, 18), dtype=float)
field = newDistArray(fft, False)
field[:] = numpy.random.default_rng(MPI.COMM_WORLD.rank).random(field.shape)
for _ in range(5):
    spectrum = fft.forward(field.copy())
    assert numpy.allclose(fft.backward(spectrum), field)
