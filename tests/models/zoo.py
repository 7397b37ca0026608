# SPDX-License-Identifier: Apache-2.0
"""Models as mmdet and mmseg ship them, on small images: predictions and some steps of training.

Whoever calls it has given mmcv its operators before: ours, or stand-ins.
"""

import copy
import warnings
from pathlib import Path
from typing import Any

import torch
from families import family_files
from torch import Tensor, nn

_FAMILIES = dict(family_files("models"))
MODELS = {name: model for module in _FAMILIES.values() for name, model in module.MODELS.items()}
_BOX_LIMITS = [key for part in _FAMILIES.values() for key in getattr(part, "BOX_LIMITS", ())]

#: Height and width of pictures; benchmarks take larger ones, and more regions.
SIZES = {"mmseg": (64, 64), "mmdet": (96, 128)}
MOST_BOXES, SAMPLES = 60, 24


def own_operators(name: str) -> set[str]:
    """Those of the family that a model is there for."""
    (module,) = (module for module in _FAMILIES.values() if name in module.MODELS)
    tables = (getattr(module, table, {}) for table in ("STAND_INS", "EXTENSION"))
    return {operator for table in tables for operator, _ in table.values()}


def build(name: str) -> nn.Module:
    """The model of a config as it is shipped, but for what a test cannot have.

    There are no pretrained weights to load, torch has no SyncBN on a CPU, and few regions are
    enough.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # mmengine imports what torch deprecates
        import importlib

        from mmengine.config import Config
        from mmengine.registry import init_default_scope

        package, path = MODELS[name][:2]
        folder = Path(importlib.import_module(package).__file__ or "").parent / ".mim" / "configs"
        config = Config.fromfile(folder / path).model
        _change(config)
        init_default_scope(package)
        models = importlib.import_module(f"{package}.registry").MODELS
        importlib.import_module(f"{package}.models")
        torch.manual_seed(0)
        model: nn.Module = models.build(config)
    _fill(model)
    return model


def _change(config: Any) -> None:
    """Walk through a config: plain norms, no weights to load, few regions."""
    if isinstance(config, list | tuple):
        for part in config:
            _change(part)
    elif isinstance(config, dict):
        if config.get("type") == "SyncBN":
            config["type"] = "BN"
        if config.get("type") == "RandomSampler":
            config["num"] = SAMPLES
        for key in _BOX_LIMITS:
            if key in config:
                config[key] = min(config[key], MOST_BOXES)
        if "score_thr" in config:
            config["score_thr"] = 0.0
        for key in ("init_cfg", "pretrained"):
            if key in config:
                config[key] = None
        if "size" in config and "type" in config and config["type"].endswith("DataPreProcessor"):
            config["size"] = SIZES["mmseg"]
        for part in config.values():
            _change(part)


def _fill(model: nn.Module) -> None:
    """Make norms and offsets that begin at zero or one something else, so that all of it counts."""
    generator = torch.Generator().manual_seed(1)
    for parameter in model.parameters():
        if parameter.detach().std(correction=0) == 0:
            noise = torch.randn(parameter.shape, generator=generator)
            parameter.data.add_(0.1 * noise if parameter.ndim == 1 else 0.01 * noise)


def inputs(name: str, images: int) -> dict[str, Any]:
    """A batch with what is to be found in it."""
    if MODELS[name].package == "mmseg":
        return _segments(MODELS[name].classes, images)
    from mmdet.testing import demo_mm_inputs

    shapes = [(3, *SIZES["mmdet"])] * images
    masks = "mask-rcnn" in name
    batch: dict[str, Any] = demo_mm_inputs(images, shapes, [4] * images, 80, with_mask=masks)
    if MODELS[name].one_class:
        for sample in batch["data_samples"]:
            sample.gt_instances.labels.zero_()
    return batch


def _segments(classes: int, images: int) -> dict[str, Any]:
    from mmengine.structures import PixelData
    from mmseg.structures import SegDataSample

    generator = torch.Generator().manual_seed(2)
    shape = SIZES["mmseg"]
    samples = []
    for _ in range(images):
        labels = torch.randint(0, classes, (1, *shape), generator=generator)
        known = {"img_shape": shape, "ori_shape": shape, "pad_shape": shape, "flip": False}
        samples.append(SegDataSample(metainfo=known, gt_sem_seg=PixelData(data=labels)))
    pictures = torch.randint(0, 256, (images, 3, *shape), generator=generator, dtype=torch.uint8)
    return {"inputs": list(pictures), "data_samples": samples}


def predict(model: nn.Module, name: str) -> dict[str, Tensor]:
    """What the model finds in one image."""
    model.eval()
    with torch.no_grad():
        (sample,) = model.test_step(inputs(name, 1))
    if MODELS[name].package == "mmseg":
        return {"logits": sample.seg_logits.data}
    found = sample.pred_instances
    return {key: found[key] for key in ("scores", "bboxes", "labels", "masks") if key in found}


def losses(model: nn.Module, name: str, images: int = 2) -> Tensor:
    """The loss of a batch, with a graph behind it."""
    model.train()
    data = model.data_preprocessor(copy.deepcopy(inputs(name, images)), training=True)
    torch.manual_seed(3)  # regions are drawn at random
    parts = model(**data, mode="loss")
    loss, _ = model.parse_losses(parts)
    return loss


def run(name: str, steps: int) -> dict[str, Any]:
    """Predict; train some steps: losses, and the gradients of the first step."""
    torch.set_num_threads(1)  # sums of torch have other bits for other numbers of threads
    model = build(name)
    found = predict(model, name)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    values, gradients = [], {}
    for step in range(steps):
        optimizer.zero_grad()
        loss = losses(model, name)
        loss.backward()
        if step == 0:
            gradients = {
                key: parameter.grad.clone()
                for key, parameter in model.named_parameters()
                if parameter.grad is not None
            }
        nn.utils.clip_grad_norm_(model.parameters(), 10)
        optimizer.step()
        values.append(loss.item())
    return {"found": found, "losses": values, "gradients": gradients}
