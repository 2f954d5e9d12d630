// SPDX-License-Identifier: BSD-2-Clause
/* Uses all of the CPU, forever, at the usual priority. */

int main(void)
{
	for (;;)
		__asm__ volatile("");
}
