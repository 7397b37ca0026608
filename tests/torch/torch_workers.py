# SPDX-License-Identifier: Apache-2.0
"""What other processes run in test_torch_processes.py: importable, and quick to import."""

from torch import Tensor
from torch.utils.data import Dataset
from torch_families import FIRST_CASES


class Results(Dataset[Tensor]):
    """Item `i` is the result of an operator for random arguments made from `i`."""

    def __len__(self) -> int:
        return 6

    def __getitem__(self, index: int) -> Tensor:
        case = FIRST_CASES[0]
        return case.ours(*case.arguments(seed=index))
