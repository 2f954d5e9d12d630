# SPDX-License-Identifier: BSD-2-Clause
"""litepulse plot"""

import textwrap
from argparse import Namespace

from litepulse import output, plot
from litepulse.commands import VERBS
from litepulse.commands.arguments import Verbs

EXAMPLES = """examples:
  litepulse plot train.json
  litepulse plot train.json -o train.png --theme dark"""


def add(verbs: Verbs) -> None:
    """The verb, to the command line."""
    sub = verbs.add_parser("plot", help=VERBS["plot"], description="Plot a file written by --json, --csv or --vnl.", epilog=EXAMPLES)
    sub.set_defaults(function=run)
    sub.add_argument("file", metavar="FILE", help="what was recorded; - for standard input")
    sub.add_argument("-o", "--output", metavar="IMAGE", help="write .png, .svg or .pdf instead of plotting in the terminal")
    sub.add_argument("--theme", choices=tuple(plot.THEMES), default="light", help="background of the image (default light)")


def run(args: Namespace) -> None:
    """litepulse plot"""
    series = plot.load(args.file)
    if args.output:
        plot.save(series, args.output, args.theme)
        output.write(f"{args.output}: {plot.describe(series)}, {series.note}")
    else:
        output.write("\n".join(plot.text(series, output.terminal_width(), output.is_plain())))
    if line := plot.correlation_line(series):
        output.write(line if args.output else "\n".join(textwrap.wrap(line, output.terminal_width())))
