# SPDX-License-Identifier: BSD-2-Clause
"""Certifies a serial port: what a board saw of it becomes figures, one JSON object and one page. docs/certify.md has the procedure.

records: what was seen; analysis: figures of that; procedure: sees it, on a board; patient: the program on the port that is measured;
host, load: the machine; selftest: the board's own port; result, words, page, files: what is handed out.
"""

PROCEDURE = 1  # version of the procedure: it changes with what is done, in which order, or with the definition of a figure
