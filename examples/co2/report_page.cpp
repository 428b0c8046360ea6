// SPDX-License-Identifier: Apache-2.0
#include "co2/report_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <hocket/error.hpp>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

#include "co2/markup.hpp"

namespace hocket::jobs::co2 {
namespace {

constexpr const char* kStyle = R"css(
:root{color-scheme:light dark;--page:#f4f5f6;--card:#fff;--ink:#1b2026;--quiet:#626b75;--rule:#dfe2e5;--lane:#f1f3f4}
@media(prefers-color-scheme:dark){:root{--page:#14171a;--card:#1d2126;--ink:#e6e9ec;--quiet:#98a2ad;--rule:#343a41;--lane:#262b31}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);font:15px/1.5 system-ui,-apple-system,'Segoe UI','Helvetica Neue',Arial,'DejaVu Sans',sans-serif}
main{max-width:1260px;margin:0 auto;padding:32px 28px 56px}
h1{font-size:28px;line-height:1.2;margin:0}
h2{font-size:17px;margin:0 0 2px}
p{margin:0;color:var(--quiet)}
section{background:var(--card);border:1px solid var(--rule);border-radius:10px;padding:20px 24px;margin-top:20px;min-width:0}
dl{display:grid;grid-template-columns:repeat(auto-fit,minmax(165px,1fr));gap:16px 24px;margin:24px 0 0}
dt{color:var(--quiet);font-size:13px}
dd{margin:0;font-size:21px;font-weight:600;font-variant-numeric:tabular-nums}
figure{margin:24px 0 0}
figure svg{display:block;width:100%;height:auto}
.tables{columns:2 480px;column-gap:20px;margin-top:20px}
.tables section{overflow-x:auto;break-inside:avoid;margin:0 0 20px}
table{border-collapse:collapse;width:100%;margin-top:12px;font-variant-numeric:tabular-nums}
th,td{padding:5px 0 5px 16px;text-align:right;border-bottom:1px solid var(--rule);white-space:nowrap}
th{color:var(--quiet);font-weight:500;font-size:13px}
th:first-child,td:first-child{text-align:left;padding-left:0}
tr:last-child td{border-bottom:0}
.legend{display:flex;flex-wrap:wrap;gap:4px 18px;margin-top:12px;font-size:13px}
.legend i{display:inline-block;width:12px;height:12px;border-radius:3px;margin-right:6px;vertical-align:-1px}
.chart{position:relative;margin-top:12px}
canvas{display:block;width:100%;cursor:crosshair}
.tip{position:absolute;pointer-events:none;background:var(--ink);color:var(--card);padding:4px 9px;border-radius:6px;font-size:13px;white-space:nowrap;display:none}
button{font:inherit;font-size:13px;color:var(--ink);background:none;border:1px solid var(--rule);border-radius:6px;padding:2px 10px;float:right;cursor:pointer}
)css";

// Draws the bars of the #timeline-data element. Drag to zoom into a stretch, double-click (or the button) to
// see all.
constexpr const char* kScript = R"js(
(() => {
  const data = JSON.parse(document.getElementById('timeline-data').textContent);
  const canvas = document.getElementById('timeline'), tip = document.getElementById('tip');
  const legend = document.getElementById('legend'), reset = document.getElementById('reset');
  const colours = ['#3b7dd8','#e2711d','#2a9d73','#b5539c','#c9a227','#6a66c4','#4aa5b8','#c84b52','#7c9440','#8a7565'];
  const colour = kind => colours[kind % colours.length];
  const row = 26, gap = 6, foot = 26;
  let from = 0, to = data.end || 1, drag = null, left = 0, width = 0;
  data.kinds.forEach((kind, i) => {
    const item = document.createElement('span'), box = document.createElement('i');
    box.style.background = colour(i);
    item.append(box, kind);
    legend.append(item);
  });
  const seconds = s => s >= 1 ? s.toFixed(3) + ' s' : s >= 1e-3 ? (s * 1e3).toFixed(3) + ' ms' : (s * 1e6).toFixed(1) + ' µs';
  const x = t => left + (t - from) / (to - from) * width;
  const time = px => from + Math.min(Math.max((px - left) / width, 0), 1) * (to - from);
  function step() {
    const raw = (to - from) / Math.max(width / 110, 1), power = 10 ** Math.floor(Math.log10(raw)), f = raw / power;
    return power * (f <= 1 ? 1 : f <= 2 ? 2 : f <= 5 ? 5 : 10);
  }
  function draw() {
    const ratio = devicePixelRatio || 1, style = getComputedStyle(document.documentElement);
    const full = canvas.clientWidth, height = data.lanes.length * (row + gap) + foot;
    canvas.style.height = height + 'px';
    canvas.width = full * ratio;
    canvas.height = height * ratio;
    const c = canvas.getContext('2d');
    c.scale(ratio, ratio);
    c.font = '13px system-ui,-apple-system,"Segoe UI",Arial,"DejaVu Sans",sans-serif';
    c.textBaseline = 'middle';
    left = Math.min(Math.max(...data.lanes.map(l => c.measureText(l).width)) + 14, full * 0.3);
    width = full - left - 12;
    data.lanes.forEach((lane, i) => {
      const y = i * (row + gap);
      c.fillStyle = style.getPropertyValue('--lane');
      c.fillRect(left, y, width, row);
      c.fillStyle = style.getPropertyValue('--ink');
      c.fillText(lane, 0, y + row / 2, left - 10);
    });
    c.save();
    c.beginPath();
    c.rect(left, 0, width, height - foot);
    c.clip();
    for (const [lane, kind, name, begin, length] of data.bars) {
      if (begin > to || begin + length < from) continue;
      const x0 = x(begin), w = x(begin + length) - x0;
      c.fillStyle = colour(kind);
      c.fillRect(x0, lane * (row + gap) + 2, w > 3 ? w - 0.5 : Math.max(w, 0.7), row - 4);
      if (w > 40 && c.measureText(data.names[name]).width < w - 8) {
        c.fillStyle = '#fff';
        c.fillText(data.names[name], x0 + 4, lane * (row + gap) + row / 2);
      }
    }
    if (drag) {
      c.fillStyle = 'rgba(128,140,152,.3)';
      c.fillRect(Math.min(drag.a, drag.b), 0, Math.abs(drag.a - drag.b), height);
    }
    c.restore();
    c.fillStyle = style.getPropertyValue('--quiet');
    c.textAlign = 'center';
    const s = step(), unit = s >= 0.1 ? [1, 's'] : s >= 1e-4 ? [1e3, 'ms'] : [1e6, 'µs'];
    for (let i = Math.ceil(from / s - 1e-9); i * s <= to + s * 1e-9; ++i) {
      c.fillRect(x(i * s), height - foot, 1, 5);
      c.fillText(+(i * s * unit[0]).toPrecision(9) + ' ' + unit[1], Math.min(x(i * s), full - 30), height - 10);
    }
  }
  const at = e => { const r = canvas.getBoundingClientRect(); return [e.clientX - r.left, e.clientY - r.top]; };
  function hover(px, py) {
    const lane = Math.floor(py / (row + gap)), t = time(px), slack = 1.5 * (to - from) / width;
    const hit = px >= left && data.bars.find(b => b[0] === lane && t >= b[3] - slack && t <= b[3] + b[4] + slack);
    tip.style.display = hit ? 'block' : 'none';
    if (!hit) return;
    tip.textContent = data.names[hit[2]] + ' · ' + data.kinds[hit[1]] + ' · ' + seconds(hit[4]) + ' from ' + seconds(hit[3]);
    tip.style.left = Math.max(Math.min(px + 12, canvas.clientWidth - tip.offsetWidth), 0) + 'px';
    tip.style.top = py + 18 + 'px';
  }
  canvas.addEventListener('pointerdown', e => { const [a] = at(e); drag = {a, b: a}; canvas.setPointerCapture(e.pointerId); });
  canvas.addEventListener('pointermove', e => {
    const [px, py] = at(e);
    if (drag) { drag.b = px; draw(); }
    hover(px, py);
  });
  canvas.addEventListener('pointerup', () => {
    const d = drag;
    drag = null;
    if (d && Math.abs(d.a - d.b) > 4) [from, to] = [time(Math.min(d.a, d.b)), time(Math.max(d.a, d.b))];
    draw();
  });
  canvas.addEventListener('pointercancel', () => { drag = null; draw(); });
  canvas.addEventListener('pointerleave', () => { tip.style.display = 'none'; });
  const all = () => { from = 0; to = data.end || 1; draw(); };
  canvas.addEventListener('dblclick', all);
  reset.addEventListener('click', all);
  addEventListener('resize', draw);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
  draw();
})();
)js";

std::string table_section(const Table& table) {
  std::string html = fmt::format("<section>\n<h2>{}</h2>\n", escape_markup(table.heading));
  if (!table.note.empty()) html += fmt::format("<p>{}</p>\n", escape_markup(table.note));
  html += "<table>\n<thead><tr>";
  for (const auto& column : table.columns)
    html += fmt::format("<th scope=\"col\">{}</th>", escape_markup(column));
  html += "</tr></thead>\n<tbody>\n";
  for (const auto& row : table.rows) {
    if (row.size() != table.columns.size()) {
      throw InvalidArgument(fmt::format("table \"{}\" has {} columns and a row of {} cells", table.heading,
                                        table.columns.size(), row.size()));
    }
    html += "<tr>";
    for (const auto& cell : row) html += fmt::format("<td>{}</td>", escape_markup(cell));
    html += "</tr>\n";
  }
  return html + "</tbody>\n</table>\n</section>\n";
}

// Gives each distinct text a number, in order of first mention.
class Numbering {
 public:
  std::size_t operator()(const std::string& text) {
    const auto [entry, added] = numbers_.emplace(text, texts_.size());
    if (added) texts_.push_back(text);
    return entry->second;
  }
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::unordered_map<std::string, std::size_t> numbers_;
  std::vector<std::string> texts_;
};

// Times from the first bar on, to the nanosecond: enough for any task, and short to write.
std::string timeline_json(const std::vector<TimelineBar>& timeline) {
  Numbering lanes;
  Numbering kinds;
  Numbering names;
  double begin = timeline.front().begin_seconds;
  double end = timeline.front().end_seconds;
  for (const auto& bar : timeline) {
    begin = std::min(begin, bar.begin_seconds);
    end = std::max(end, bar.end_seconds);
  }
  const auto nanoseconds = [](double seconds) { return std::round(seconds * 1e9) / 1e9; };
  auto bars = nlohmann::json::array();
  for (const auto& bar : timeline) {
    bars.push_back({lanes(bar.lane), kinds(bar.kind), names(bar.name), nanoseconds(bar.begin_seconds - begin),
                    nanoseconds(bar.end_seconds - bar.begin_seconds)});
  }
  const nlohmann::json data = {{"lanes", lanes.texts()},
                               {"kinds", kinds.texts()},
                               {"names", names.texts()},
                               {"end", nanoseconds(end - begin)},
                               {"bars", std::move(bars)}};
  const std::string json = data.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  // Within a script element only "<" could end the data; JSON may spell it otherwise.
  std::string safe;
  for (const char c : json) safe += c == '<' ? std::string("\\u003c") : std::string(1, c);
  return safe;
}

std::string timeline_section(const std::vector<TimelineBar>& timeline) {
  if (timeline.empty()) return "";
  return fmt::format(
      "<section>\n<button id=\"reset\" type=\"button\">Show all</button>\n<h2>Timeline of devices and "
      "links</h2>\n"
      "<p>Point at a bar for its name and length; drag to zoom into a stretch; double-click to see all.</p>\n"
      "<noscript><p>The timeline is drawn by a script in this page, and scripts are switched "
      "off.</p></noscript>\n"
      "<div class=\"legend\" id=\"legend\"></div>\n"
      "<div class=\"chart\"><canvas id=\"timeline\" role=\"img\" aria-label=\"Timeline of {} tasks and "
      "copies\">"
      "</canvas><div class=\"tip\" id=\"tip\"></div></div>\n</section>\n"
      "<script type=\"application/json\" id=\"timeline-data\">{}</script>\n<script>{}</script>\n",
      timeline.size(), timeline_json(timeline), kScript);
}

}  // namespace

std::string draw_report_page(const ReportPage& page) {
  const std::string title = escape_markup(page.title);
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<title>{}</title>\n"
      "<style>{}</style>\n</head>\n<body>\n<main>\n<h1>{}</h1>\n<p>{}</p>\n",
      title, kStyle, title, escape_markup(page.subtitle));
  if (!page.facts.empty()) html += "<dl>\n";
  for (const auto& fact : page.facts) {
    html += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", escape_markup(fact.label),
                        escape_markup(fact.value));
  }
  if (!page.facts.empty()) html += "</dl>\n";
  if (!page.svg.empty()) html += "<figure>\n" + page.svg + "</figure>\n";
  html += timeline_section(page.timeline);
  html += "<div class=\"tables\">\n";
  for (const auto& table : page.tables) html += table_section(table);
  return html + "</div>\n</main>\n</body>\n</html>\n";
}

}  // namespace hocket::jobs::co2
