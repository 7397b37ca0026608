# SPDX-License-Identifier: Apache-2.0
"""Runs models on the stand-ins, in a process that has nothing of pymluops: FOLDER MODEL...

A model's results are in FOLDER/MODEL.pt as soon as that is there.
"""

import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import stand_ins

    stand_ins.install()
    import torch
    import zoo

    folder = Path(sys.argv[1])
    for name in sys.argv[2:]:
        stand_ins.CALLED.clear()
        results = zoo.run(name, steps=1) | {"called": sorted(stand_ins.CALLED)}
        torch.save(results, folder / "part")
        assert not any(module.startswith("pymluops") for module in sys.modules)
        (folder / "part").rename(folder / f"{name}.pt")
