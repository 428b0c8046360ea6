// SPDX-License-Identifier: Apache-2.0
#include "trace/html.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>
#include <vector>

#include "trace/escape.hpp"
#include "trace/file.hpp"
#include "trace/gantt.hpp"
#include "trace/lanes.hpp"
#include "trace/quantity.hpp"

namespace hocket {
namespace trace {
namespace {

constexpr const char* kStyle = R"css(
:root{color-scheme:light dark;--page:#f4f5f7;--card:#fff;--ink:#1b2026;--quiet:#5c656f;--rule:#e0e3e7;--track:#e8ebee;--accent:#2971c7;--bad:#c2182f}
@media(prefers-color-scheme:dark){:root{--page:#14171a;--card:#1d2126;--ink:#e6e9ec;--quiet:#9aa4af;--rule:#343a41;--track:#31373e;--accent:#5b9be8;--bad:#ff6b7c}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);font:15px/1.5 system-ui,-apple-system,'Segoe UI','Helvetica Neue',Arial,'DejaVu Sans',sans-serif}
main{max-width:1296px;margin:0 auto;padding:36px 28px 48px}
h1{font-size:28px;line-height:1.2;margin:0;overflow-wrap:anywhere}
h2{font-size:17px;margin:0}
p{margin:4px 0 0;color:var(--quiet)}
section,figure{background:var(--card);border:1px solid var(--rule);border-radius:10px;margin:20px 0 0}
section{padding:20px 24px;overflow-x:auto}
figure{padding:20px 0 4px;overflow:hidden}
figure h2,figure p{padding:0 24px}
figure svg{display:block;width:100%;height:auto;margin-top:4px}
dl{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:18px 24px;margin:26px 0 4px}
dt{color:var(--quiet);font-size:13px}
dd{margin:0;font-size:24px;line-height:1.3;font-weight:600;font-variant-numeric:tabular-nums}
.bad{color:var(--bad)}
table{border-collapse:collapse;width:100%;margin-top:10px;font-variant-numeric:tabular-nums}
th,td{padding:7px 0 7px 22px;text-align:right;border-bottom:1px solid var(--rule);white-space:nowrap}
th{color:var(--quiet);font-weight:500;font-size:13px}
th:first-child,td:first-child{text-align:left;padding-left:0;width:99%;white-space:normal;overflow-wrap:anywhere;min-width:200px}
tbody tr:last-child td{border-bottom:0}
td small{color:var(--quiet);font-size:13px;margin-left:6px}
.meter{display:inline-block;width:72px;height:6px;border-radius:3px;background:var(--track);margin-right:10px;vertical-align:2px;overflow:hidden}
.meter i{display:block;height:100%;border-radius:3px;background:var(--accent)}
)css";

double ratio(double part, double whole) { return whole > 0.0 ? part / whole : std::nan(""); }

// A share with a small bar in front of it.
std::string meter(double share) {
  const double filled = std::isfinite(share) ? std::clamp(share, 0.0, 1.0) : 0.0;
  return fmt::format("<span class=\"meter\"><i style=\"width:{:.1f}%\"></i></span>{}", filled * 100.0,
                     format_share(share));
}

class Page {
 public:
  Page(const Report& report, const std::string& title) : report_(report), title_(title) {}

  std::string write() {
    const std::string title = escape_markup(title_.empty() ? "Run" : title_);
    put("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{}</title>\n"
        "<style>{}</style>\n</head>\n<body>\n<main>\n<h1>{}</h1>\n",
        title, kStyle, title);
    std::string summary = fmt::format("observed for {}", format_seconds(report_.end - report_.begin));
    if (!report_.policy.empty())
      summary = fmt::format("policy {} · ", escape_markup(report_.policy)) + summary;
    put("<p>{}</p>\n", summary);
    totals();
    devices();
    links();
    const bool traced = !report_.task_events.empty() || !report_.transfer_events.empty();
    put("<figure>\n<h2>Timeline</h2>\n{}{}\n</figure>\n",
        traced ? "<p>Point at a bar to see its task or copy.</p>\n" : "", gantt_svg(report_));
    page_ += "</main>\n</body>\n</html>\n";
    return std::move(page_);
  }

 private:
  template <class... Arguments>
  void put(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(page_), format, std::forward<Arguments>(arguments)...);
  }

  void fact(const char* label, const std::string& value, bool bad = false) {
    put("<div><dt>{}</dt><dd{}>{}</dd></div>\n", label, bad ? " class=\"bad\"" : "", value);
  }

  void totals() {
    page_ += "<dl>\n";
    fact("Makespan", format_seconds(report_.makespan));
    fact("Tasks done", format_count(report_.tasks));
    fact("Failed", format_count(report_.failed), report_.failed > 0);
    fact("Cancelled", format_count(report_.cancelled), report_.cancelled > 0);
    fact("Speed", report_.flops > 0.0 ? format_flops(ratio(report_.flops, report_.makespan.count))
                                      : std::string("not stated"));
    fact("Moved between memories", format_bytes(report_.bytes_moved));
    page_ += "</dl>\n";
  }

  void devices() {
    if (report_.devices.empty()) return;
    Seconds busy{};
    bool modelled = false;
    for (const DeviceReport& device : report_.devices) {
      busy += device.busy;
      modelled = modelled || device.modelled.has_value();
    }
    // Floating-point operations say best who did the work, where the codelets state them.
    const bool by_flops = report_.flops > 0.0;
    put("<section>\n<h2>Devices</h2>\n<p>Share of work: part of all {}. In use: busy time over the makespan "
        "of all "
        "its workers.{}</p>\n<table>\n<thead><tr><th>Device</th><th>Workers</th><th>Tasks</th><th>Share of "
        "work</th><th>Busy</th><th>In use</th>{}{}</tr></thead>\n<tbody>\n",
        by_flops ? "floating-point operations" : "busy time",
        modelled
            ? " Modelled: what the emulated hardware would have taken; not to be compared with busy time, "
              "which is the emulator's own."
            : "",
        by_flops ? "<th>While busy</th>" : "", modelled ? "<th>Modelled</th>" : "");
    for (const DeviceReport& device : report_.devices) {
      const double share =
          by_flops ? ratio(device.flops, report_.flops) : ratio(device.busy.count, busy.count);
      const double in_use = ratio(device.busy.count, report_.makespan.count * std::max(device.workers, 1u));
      put("<tr><td>{}<small>{}</small></td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>",
          escape_markup(device_name(report_, device.id)), escape_markup(device.kind), device.workers,
          format_count(device.tasks), meter(share), format_seconds(device.busy), meter(in_use));
      if (by_flops)
        put("<td>{}</td>",
            device.flops > 0.0 ? format_flops(ratio(device.flops, device.busy.count)) : std::string("–"));
      if (modelled) put("<td>{}</td>", device.modelled ? format_seconds(*device.modelled) : std::string("–"));
      page_ += "</tr>\n";
    }
    page_ += "</tbody>\n</table>\n</section>\n";
  }

  void links() {
    if (report_.links.empty()) return;
    page_ +=
        "<section>\n<h2>Links</h2>\n<table>\n<thead><tr><th>From and to</th><th>Copies</th><th>Bytes</th>"
        "<th>Busy</th><th>While busy</th></tr></thead>\n<tbody>\n";
    for (const LinkReport& link : report_.links) {
      const std::string name =
          link.from == link.to ? fmt::format("{}<small>conversion in place</small>", escape_markup(link.from))
                               : escape_markup(link.from) + " → " + escape_markup(link.to);
      put("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n", name,
          format_count(link.copies), format_bytes(link.bytes), format_seconds(link.busy),
          format_rate(ratio(static_cast<double>(link.bytes.count), link.busy.count)));
    }
    page_ += "</tbody>\n</table>\n</section>\n";
  }

  const Report& report_;
  const std::string& title_;
  std::string page_;
};

}  // namespace

std::string html_page(const Report& report, const std::string& title) { return Page(report, title).write(); }

}  // namespace trace

void write_html(const Report& report, const std::string& title, const std::string& path) {
  // Opened first: where the file cannot be written, that is said before the work is done.
  trace::OutputFile file(path);
  file.write(trace::html_page(report, title));
  file.close();
}

}  // namespace hocket
