/* SPDX-License-Identifier: GPL-2.0-only */
/* The file of a claim: a reader that may also launch. */
#ifndef LITEPULSE_CLAIM_FILE_H
#define LITEPULSE_CLAIM_FILE_H

#include "litepulse_reader.h"

struct file *litepulse_claim_file_open(struct litepulse *lp, const struct litepulse_claim *request,
				       const struct file_operations *fops);
int litepulse_claim_file_begin(struct file *file, bool keep);

/* File operations; file->private_data is the claim's struct litepulse_reader. */
ssize_t litepulse_claim_file_write(struct file *file, const char __user *buffer, size_t size,
				   loff_t *position);
__poll_t litepulse_claim_file_poll(struct file *file, poll_table *wait);
int litepulse_claim_file_release(struct inode *inode, struct file *file);

#endif /* LITEPULSE_CLAIM_FILE_H */
