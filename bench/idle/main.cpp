// SPDX-License-Identifier: Apache-2.0
/// Runs one probe:
///   hocket_bench_idle NAME ROUNDS [quick]
#include <cstring>
#include <exception>
#include <map>
#include <string>

#include "idle/probes.hpp"

int main(int argc, char** argv) {
  using namespace hocket::bench::idle;
  const std::map<std::string, void (*)(const Extent&)> probes{{"idle_use", idle_use},
                                                              {"wake_up", wake_up},
                                                              {"latency", latency},
                                                              {"speed_up", speed_up},
                                                              {"long_submission", long_submission},
                                                              {"oversubscription", oversubscription}};
  try {
    const auto probe = argc >= 3 ? probes.find(argv[1]) : probes.end();
    if (probe == probes.end()) {
      std::fprintf(stderr, "usage: hocket_bench_idle NAME ROUNDS [quick], NAME one of");
      for (const auto& entry : probes) std::fprintf(stderr, " %s", entry.first.c_str());
      std::fprintf(stderr, "\n");
      return 2;
    }
    probe->second({.rounds = std::stoi(argv[2]), .quick = argc > 3 && std::strcmp(argv[3], "quick") == 0});
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
