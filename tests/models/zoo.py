# SPDX-License-Identifier: Apache-2.0
"""Models as mmdet and mmseg ship them, on small images: predictions and some steps of training.

Whoever calls it has given mmcv its operators before: ours, or stand-ins.
"""

import copy
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn


class Model(NamedTuple):
    package: str
    config: str
    operators: str
    """Those of ours that it uses when it is trained and asked."""

    @property
    def classes(self) -> int:
        return 150 if "ade20k" in self.config else 19


_FPN = "_r50_fpn_1x_coco.py"
MODELS = {
    "psanet cityscapes": Model(
        "mmseg", "psanet/psanet_r50-d8_4xb2-40k_cityscapes-512x1024.py", "psa_mask"
    ),
    "psanet ade20k": Model("mmseg", "psanet/psanet_r50-d8_4xb4-80k_ade20k-512x512.py", "psa_mask"),
    "carafe faster-rcnn": Model(
        "mmdet", "carafe/faster-rcnn_r50_fpn-carafe_1x_coco.py", "carafe nms roi_align"
    ),
    "carafe mask-rcnn": Model(
        "mmdet", "carafe/mask-rcnn_r50_fpn-carafe_1x_coco.py", "carafe nms roi_align"
    ),
    "dcn faster-rcnn dpool": Model(
        "mmdet", "dcn/faster-rcnn_r50_fpn_dpool_1x_coco.py", "deform_roi_pool nms"
    ),
    "dcnv2 faster-rcnn mdpool": Model(
        "mmdet", "dcnv2/faster-rcnn_r50_fpn_mdpool_1x_coco.py", "deform_roi_pool nms"
    ),
    "ga-retinanet": Model(
        "mmdet", "guided_anchoring/ga-retinanet" + _FPN, "deform_conv2d masked_conv2d nms"
    ),
    "ga-rpn": Model("mmdet", "guided_anchoring/ga-rpn" + _FPN, "deform_conv2d masked_conv2d nms"),
    "ga-faster-rcnn": Model(
        "mmdet",
        "guided_anchoring/ga-faster-rcnn" + _FPN,
        "deform_conv2d masked_conv2d nms roi_align",
    ),
    # What else the operators let run.
    "retinanet": Model("mmdet", "retinanet/retinanet" + _FPN, "nms"),
    "mask-rcnn": Model("mmdet", "mask_rcnn/mask-rcnn" + _FPN, "nms roi_align"),
    "dcn faster-rcnn": Model(
        "mmdet",
        "dcn/faster-rcnn_r50-dconv-c3-c5_fpn_1x_coco.py",
        "deform_conv2d nms roi_align",
    ),
    "dcnv2 mask-rcnn": Model(
        "mmdet",
        "dcnv2/mask-rcnn_r50-mdconv-c3-c5_fpn_1x_coco.py",
        "deform_conv2d nms roi_align",
    ),
    "dyhead atss": Model("mmdet", "dyhead/atss_r50_fpn_dyhead_1x_coco.py", "deform_conv2d nms"),
}

#: Height and width of pictures; benchmarks take larger ones, and more regions.
SIZES = {"mmseg": (64, 64), "mmdet": (96, 128)}
MOST_BOXES, SAMPLES = 60, 24


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

        package, path, _ = MODELS[name]
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
        for key in ("max_per_img", "nms_pre"):
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
    if name == "ga-rpn":
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
