# SPDX-License-Identifier: Apache-2.0
"""Let the threads of OpenMP sleep when they wait: tests run beside each other on few processors.

Imported before anything that starts them, which then reads the variable.
"""

import os

os.environ.setdefault("OMP_WAIT_POLICY", "passive")
