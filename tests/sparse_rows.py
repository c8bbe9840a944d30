"""Random sparse tables, the same with every version of SciPy."""

import numpy as np
import scipy.sparse as sp


def random_rows(shape, density, generator):
    """A CSR array with a share of its entries drawn from [0, 1)."""
    count = round(density * shape[0] * shape[1])
    chosen = generator.choice(shape[0] * shape[1], count, replace=False)
    rows, columns = (axis.astype(np.int32) for axis in np.unravel_index(chosen, shape))
    return sp.csr_array((generator.random(count), (rows, columns)), shape=shape)
