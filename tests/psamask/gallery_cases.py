# SPDX-License-Identifier: Apache-2.0
"""Its part of the gallery of test cases (tests/cases): operator, note for the file, sizes."""


def cases():
    for direction in ("forward", "backward"):
        for side, mask in ((30, 59), (60, 119)):
            for kind, name in enumerate(("collect", "distribute")):
                sizes = [f"H={side}", f"W={side}", f"h_mask={mask}", f"w_mask={mask}"]
                yield f"psamask_{direction}", f"{side}_{name}", [*sizes, f"psa_type={kind}"]
