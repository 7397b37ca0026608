# SPDX-License-Identifier: Apache-2.0
"""Train a tiny CARAFE upsampler on a drawing made here, and show it beside nearest and bilinear.

    python examples/carafe_upsample.py [--steps N] [picture.png]

The network sees a small image, predicts a 5 x 5 kernel for each pixel of one four times as large,
and CARAFE applies the kernels to the small image. Bilinear upsampling does the same with kernels
that know nothing of the image; here they learn to follow its edges. The network is trained on the
very drawing that it is shown with, and takes less than half a minute on two cores.

The picture has two rows: the input in its own size, nearest, bilinear, CARAFE; and below, a detail
of the original and of the three.
"""

import argparse
import math
import struct
import time
import zlib
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

from pymluops.torch import CARAFEPack

SCALE = 4


class Upsampler(CARAFEPack):
    """Predicts kernels from features of an image, and applies them to the image itself."""

    def __init__(self, width: int = 32) -> None:
        super().__init__(width, SCALE, compressed_channels=width)
        layers: list[nn.Module] = []
        for channels in (3, width, width):
            layers += [nn.Conv2d(channels, width, 3, padding=1), nn.GroupNorm(4, width), nn.ReLU()]
        self.features = nn.Sequential(*layers)
        nn.init.normal_(self.content_encoder.weight, std=0.02)

    def forward(self, image: Tensor) -> Tensor:
        predicted = self.content_encoder(self.channel_compressor(self.features(image)))
        return self.feature_reassemble(image, self.kernel_normalizer(predicted))


# -------------------------------------------------------------------------------------- drawing


def paint(image: Tensor, inside: Tensor, color: Tensor) -> Tensor:
    """Cover what is inside a shape; `inside` is the distance to its edge, in pixels."""
    cover = (inside + 0.5).clamp(0, 1)
    return image * (1 - cover) + color[:, None, None] * cover


def drawing(size: int, shapes: int, generator: torch.Generator) -> Tensor:
    """Draw random disks, rings, bars and stars; (3, size, size)."""

    def uniform(low: float, high: float) -> float:
        return low + (high - low) * float(torch.rand((), generator=generator))

    y, x = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    image = torch.rand(3, generator=generator)[:, None, None].expand(3, size, size)
    for _ in range(shapes):
        dx, dy = x - uniform(0, size), y - uniform(0, size)
        angle, reach = uniform(0, math.pi), size * uniform(0.05, 0.3)
        along = dx * math.cos(angle) + dy * math.sin(angle)
        across = dy * math.cos(angle) - dx * math.sin(angle)
        distance = torch.hypot(dx, dy)
        spokes = torch.cos(torch.atan2(across, along) * int(uniform(3, 9)))
        inside = (
            reach - distance,
            reach * 0.15 - (distance - reach).abs(),
            torch.minimum(reach - along.abs(), reach * 0.2 - across.abs()),
            reach * (0.7 + 0.3 * spokes) - distance,
        )[int(uniform(0, 4))]
        image = paint(image, inside, torch.rand(3, generator=generator))
    return image


def reduced(image: Tensor) -> Tensor:
    return functional.avg_pool2d(image, SCALE)


# -------------------------------------------------------------------------------------- training


def train(model: nn.Module, original: Tensor, small: Tensor, steps: int) -> None:
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    begin = time.perf_counter()
    for step in range(1, steps + 1):
        result = model(small)
        loss = (result - original).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % 50 == 0:
            seconds = time.perf_counter() - begin
            print(f"step {step:4d}  {quality(result.detach(), original)}  {seconds:5.1f} s")


def quality(image: Tensor, original: Tensor) -> str:
    """Return the peak signal-to-noise ratio as text."""
    return f"{-10 * math.log10(float((image - original).square().mean())):.2f} dB"


# -------------------------------------------------------------------------------------- picture


def save_png(path: Path, image: Tensor) -> None:
    """Write a (3, H, W) image with values from 0 to 1."""
    pixels = (image.clamp(0, 1) * 255).round().to(torch.uint8).permute(1, 2, 0).contiguous()
    height, width, _ = pixels.shape
    rows = b"".join(b"\0" + row.numpy().tobytes() for row in pixels)

    def chunk(kind: bytes, data: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + check

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    body = chunk(b"IDAT", zlib.compress(rows, 9))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + header + body + chunk(b"IEND", b""))


def side_by_side(panels: list[Tensor]) -> Tensor:
    """Put panels of one size in a row, with a white margin around each."""
    return torch.cat([functional.pad(panel, (4, 4, 4, 4), value=1.0) for panel in panels], 2)


def in_the_middle(small: Tensor, size: int) -> Tensor:
    before = (size - small.shape[1]) // 2
    after = size - small.shape[1] - before
    return functional.pad(small, (before, after, before, after), value=1.0)


def picture(original: Tensor, small: Tensor, results: dict[str, Tensor]) -> Tensor:
    """Compose the two rows: whole images, and a detail of each four times as large."""
    size = original.shape[1]
    first = [in_the_middle(small, size), *results.values()]
    corner, side = size // 2, size // 4
    detail = slice(corner - side // 2, corner + side // 2)
    second = [
        image[:, detail, detail].repeat_interleave(4, 1).repeat_interleave(4, 2)
        for image in (original, *results.values())
    ]
    return torch.cat([side_by_side(first), side_by_side(second)], 1)


def main() -> None:
    parser = argparse.ArgumentParser(description="Train and show a tiny CARAFE upsampler.")
    parser.add_argument("picture", nargs="?", type=Path, default=Path("carafe_upsample.png"))
    parser.add_argument("--steps", type=int, default=350)
    options = parser.parse_args()

    original = drawing(256, 18, torch.Generator().manual_seed(2026))
    # channels_last goes through CARAFE without a copy.
    small = reduced(original)[None].contiguous(memory_format=torch.channels_last)
    torch.manual_seed(0)
    model = Upsampler().to(memory_format=torch.channels_last)
    train(model, original, small, options.steps)

    with torch.no_grad():
        results = {
            "nearest": functional.interpolate(small, scale_factor=SCALE)[0],
            "bilinear": functional.interpolate(small, scale_factor=SCALE, mode="bilinear")[0],
            "CARAFE": model(small)[0],
        }
    for name, image in results.items():
        print(f"{name:9s} {quality(image, original)}")
    save_png(options.picture, picture(original, small[0], results))
    print(f"saved {options.picture}")


if __name__ == "__main__":
    main()
