# SPDX-License-Identifier: Apache-2.0
"""What tests/binding has to know about nms; python_calls.py explains each."""

FLOAT32_COORDINATES = {"nms": "boxes"}
WAYS = {
    "nms": [
        {"method": "linear"},
        {"method": "gaussian", "sigma": 0.25, "score_threshold": 0.1},
        {"offset": 1},
        {"box_mode": "centre"},
        {"max_output_size": 1},
        {"return_scores": True},
    ],
}
