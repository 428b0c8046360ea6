#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing, builds everything and runs all tests, then again under ThreadSanitizer and under
# AddressSanitizer with UndefinedBehaviorSanitizer. Each test has a watchdog. The last line counts.
#   bash tests/run.sh [--quick]      --quick: without the sanitizers
set -euo pipefail
presets=(release tsan asan)
case "${1:-}" in
  --quick) presets=(release) ;;
  '') ;;
  *) sed -n '3,5s/^# //p' "${BASH_SOURCE[0]}"; [ "$1" = --help ] && exit 0; exit 2 ;;
esac

# shellcheck source=cmake/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/../cmake/setup.sh"
trap hocket_give_back EXIT
set_up tests

passed=0
failed=0
skipped=0
skipped_tests=()
failed_tests=()

# Reads ctest's JUnit file $1 and prints a line "state<TAB>name<TAB>reason" for each test. A test that could not
# be started at all counts as failed.
read_results() {
  awk '
    function attribute(name,   at, rest) {
      at = index($0, " " name "=\"")
      if (!at) return ""
      rest = substr($0, at + length(name) + 3)
      return plain(substr(rest, 1, index(rest, "\"") - 1))
    }
    function plain(text) {
      gsub(/&lt;/, "<", text); gsub(/&gt;/, ">", text); gsub(/&quot;/, "\"", text); gsub(/&amp;/, "\\&", text)
      gsub(/<\/?system-out>/, "", text)
      return text
    }
    /<testcase / { name = attribute("name"); state = attribute("status") == "run" ? "passed" : "failed"; reason = ""; take = 0 }
    /<skipped /  { state = attribute("message") ~ /^SKIP_/ ? "skipped" : "failed"; reason = state == "failed" ? attribute("message") : "" }
    /<failure /  { state = "failed"; reason = attribute("message") }
    name != "" && state == "skipped" && reason == "" {
      if (take && $0 != "" && $0 !~ /^\[/) { reason = plain($0); take = 0 }
      else if ($0 ~ /: Skipped *$/) take = 1
      else if ($0 ~ /Skipped: ./) { reason = plain($0); sub(/.*Skipped: /, "", reason) }
      else take = 0
    }
    /<\/testcase>/ { printf "%s\t%s\t%s\n", state, name, reason; name = "" }
  ' "$1"
}

# Kernels with very random address layouts leave ThreadSanitizer of older compilers no room; it runs without then.
fixed_addresses=()
choose_addresses() {
  local probe=$hocket_root/build/probe
  mkdir -p "$probe"
  echo 'int main() { return 0; }' >"$probe/tsan.cpp"
  c++ -fsanitize=thread "$probe/tsan.cpp" -o "$probe/tsan"
  local attempt
  for attempt in 1 2 3 4 5; do
    if ! "$probe/tsan" 2>/dev/null; then
      fixed_addresses=(setarch "$(uname -m)" -R)
      "${fixed_addresses[@]}" "$probe/tsan" || fail "programs built with -fsanitize=thread do not start here"
      return
    fi
  done
}

run_tests() {
  local preset=$1 watchdog=$2 results=$hocket_root/build/$1/results.xml status=0 state name reason count=0
  step "Test ($preset)"
  rm -f "$results"
  (cd "$hocket_root" && "${fixed_addresses[@]}" ctest --preset "$preset" -j "$jobs" --timeout "$watchdog" \
    --output-junit "$results" </dev/null) || status=$?
  if [ -f "$results" ]; then
    while IFS=$'\t' read -r state name reason; do
      count=$((count + 1))
      case $state in
        passed) passed=$((passed + 1)) ;;
        skipped) skipped=$((skipped + 1)); skipped_tests+=("$preset: $name: ${reason:-no reason given}") ;;
        *) failed=$((failed + 1)); failed_tests+=("$preset: $name") ;;
      esac
    done < <(read_results "$results")
  fi
  if [ $count -eq 0 ] || { [ $status -ne 0 ] && [ ${#failed_tests[@]} -eq 0 ]; }; then
    failed=$((failed + 1))
    failed_tests+=("$preset: ctest itself ended with status $status")
  fi
}

for preset in "${presets[@]}"; do
  watchdog=120
  [ "$preset" = release ] || watchdog=300
  if ! configure_and_build "$preset"; then
    failed=$((failed + 1))
    failed_tests+=("$preset: the build")
    continue
  fi
  fixed_addresses=()
  [ "$preset" = tsan ] && choose_addresses
  run_tests "$preset" "$watchdog"
done

step "Result"
if [ ${#skipped_tests[@]} -gt 0 ]; then
  echo "skipped:"
  printf '  %s\n' "${skipped_tests[@]}"
fi
if [ ${#failed_tests[@]} -gt 0 ]; then
  echo "failed:"
  printf '  %s\n' "${failed_tests[@]}"
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
