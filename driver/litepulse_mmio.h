/* SPDX-License-Identifier: GPL-2.0-only */
/* Transport of a core whose registers are mapped. */
#ifndef LITEPULSE_MMIO_H
#define LITEPULSE_MMIO_H

#include "litepulse.h"

int litepulse_mmio_probe(struct platform_device *pdev, struct litepulse_platform_data *transport);

#endif /* LITEPULSE_MMIO_H */
