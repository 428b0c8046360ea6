# SPDX-License-Identifier: Apache-2.0
"""A bar chart of ratios on a logarithmic scale, as SVG."""

import html
import math

COLOURS = ["#1f5fa8", "#63a3e0", "#e08214", "#3a9250", "#8c5fb0", "#b8463f", "#777777"]
BAR, GAP, LABEL, PLOT, RIGHT, TOP = 11, 10, 170, 760, 60, 84


def ratios(title, names, groups):
    """`groups`: (label, [(name, ratio), ...]); bars start at 1 and go left or right. `names` fixes the colours."""
    used = [name for name in names if any(name == n for _, bars in groups for n, _ in bars)]
    colour = {name: COLOURS[names.index(name) % len(COLOURS)] for name in used}
    values = [ratio for _, bars in groups for _, ratio in bars]
    low = min(-1, math.floor(math.log10(min(values)) - 0.1))  # room for the figure left of the longest bar
    high = max(1, math.ceil(math.log10(max(values)) + 0.02))

    def x(value):
        return LABEL + PLOT * (math.log10(value) - low) / (high - low)

    legend_rows = (len(used) + 2) // 3
    top = TOP + 18 * (legend_rows - 1)
    height = top + sum(BAR * len(bars) + GAP for _, bars in groups) + 30
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{LABEL + PLOT + RIGHT}" height="{height}" '
           'font-family="sans-serif" font-size="12">',
           '<rect width="100%" height="100%" fill="white"/>',
           f'<text x="12" y="22" font-size="15">{html.escape(title)}</text>']
    for i, name in enumerate(used):
        left, y = 12 + 310 * (i % 3), 44 + 18 * (i // 3)
        out.append(f'<rect x="{left}" y="{y - 9}" width="11" height="11" fill="{colour[name]}"/>'
                   f'<text x="{left + 16}" y="{y}">{html.escape(name)}</text>')
    for power in range(low, high + 1):
        for digit in (1, 2, 5):
            value = digit * 10.0**power
            if value > 10.0**high * 1.0001:
                continue
            stroke = "#333" if value == 1 else "#ddd"
            out.append(f'<line x1="{x(value):.1f}" x2="{x(value):.1f}" y1="{top - 8}" y2="{height - 24}" '
                       f'stroke="{stroke}"/>'
                       f'<text x="{x(value):.1f}" y="{top - 12}" text-anchor="middle" fill="#555" '
                       f'font-size="11">{value:g}</text>')
    y = top
    for label, bars in groups:
        middle = y + BAR * len(bars) / 2 + 4
        out.append(f'<text x="{LABEL - 8}" y="{middle:.1f}" text-anchor="end">{html.escape(label)}</text>')
        for name, ratio in bars:
            left, right = sorted((x(1), x(ratio)))
            out.append(f'<rect x="{left:.1f}" y="{y}" width="{max(right - left, 1):.1f}" height="{BAR - 1}" '
                       f'fill="{colour[name]}"/>')
            at, anchor = (right + 3, "start") if ratio >= 1 else (left - 3, "end")
            out.append(f'<text x="{at:.1f}" y="{y + BAR - 2}" text-anchor="{anchor}" font-size="9" '
                       f'fill="#333">{ratio:.2f}</text>')
            y += BAR
        y += GAP
    out.append(f'<text x="12" y="{height - 8}" fill="#555" font-size="11">'
               'rows: pattern, workers; CPU time of the process, median of the rounds; logarithmic scale</text></svg>\n')
    return "\n".join(out)
