// SPDX-License-Identifier: BSD-2-Clause
/* Wants all of the CPU, for ever, at the usual priority. */

int main(void)
{
	for (;;)
		__asm__ volatile("");
}
