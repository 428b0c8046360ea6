// SPDX-License-Identifier: Apache-2.0
#include "dense/options.hpp"

#include <algorithm>
#include <stdexcept>

namespace hocket::bench::dense {
namespace {

const std::string& one_of(const std::string& value, std::initializer_list<const char*> known) {
  if (std::find(known.begin(), known.end(), value) == known.end())
    throw std::invalid_argument("'" + value + "' is none of those that are known");
  return value;
}

void set(Options& options, const std::string& name, const std::string& value) {
  if (name == "problem") {
    options.problem = one_of(value, {"gemm", "cholesky"});
  } else if (name == "type") {
    options.type = one_of(value, {"double", "float"});
  } else if (name == "n") {
    options.n = std::stoul(value);
  } else if (name == "tile") {
    options.tile = std::stoul(value);
  } else if (name == "workers") {
    options.workers = static_cast<unsigned>(std::stoul(value));
  } else if (name == "mode") {
    options.mode = value;
  } else if (name == "storage") {
    options.storage = one_of(value, {"tiles", "whole"}) == "tiles" ? Storage::Tiles : Storage::Whole;
  } else if (name == "at_least") {
    options.at_least = std::stoi(value);
  } else if (name == "for_seconds") {
    options.for_seconds = std::stod(value);
  } else {
    throw std::invalid_argument("no option of that name");
  }
}

}  // namespace

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const std::size_t sign = argument.find('=');
    try {
      if (sign == std::string::npos) throw std::invalid_argument("write name=value");
      set(options, argument.substr(0, sign), argument.substr(sign + 1));
    } catch (const std::exception& error) {
      throw std::invalid_argument(argument + ": " + error.what());
    }
  }
  if (options.n == 0 || options.tile == 0 || options.n % options.tile != 0)
    throw std::invalid_argument("the tile must divide n, and neither may be 0");
  if (options.workers == 0) throw std::invalid_argument("workers must be at least 1");
  return options;
}

}  // namespace hocket::bench::dense
