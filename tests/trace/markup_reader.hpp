// SPDX-License-Identifier: Apache-2.0
#pragma once

// A reader of mark-up for tests: checks that elements nest and that names cannot have broken out of them.

#include <algorithm>
#include <cstddef>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace hocket::trace::sample {

struct Element {
  std::string name;
  std::map<std::string, std::string> attributes;
  std::string text;  ///< Directly inside, entities as they are written.
};

/// The elements of a text in order of their begin. Throws std::runtime_error where it is not well formed: a
/// tag that is not closed, a bare `&` or `<`, a control character. `is_void` names HTML's elements without an
/// end.
class MarkupReader {
 public:
  explicit MarkupReader(const std::string& text) : text_(text) {
    while (at_ < text_.size()) {
      if (text_[at_] == '<')
        tag();
      else
        content();
    }
    if (!open_.empty()) fail("<" + elements_[open_.back()].name + "> is not closed");
  }

  const std::vector<Element>& elements() const { return elements_; }
  std::vector<Element> named(const std::string& name) const {
    std::vector<Element> found;
    for (const Element& element : elements_)
      if (element.name == name) found.push_back(element);
    return found;
  }

 private:
  static bool is_void(const std::string& name) { return name == "meta"; }

  void tag() {
    if (text_.compare(at_, 9, "<!DOCTYPE") == 0) {
      at_ = text_.find('>', at_) + 1;
      return;
    }
    const bool is_end = text_[at_ + 1] == '/';
    at_ += is_end ? 2 : 1;
    const std::string name = word();
    if (name.empty()) fail("a bare <");
    if (is_end) {
      if (open_.empty() || elements_[open_.back()].name != name) fail("</" + name + "> closes nothing");
      open_.pop_back();
      if (text_[at_++] != '>') fail("an end tag without end");
      return;
    }
    Element element;
    element.name = name;
    while (text_.at(at_) == ' ') {
      ++at_;
      const std::string key = word();
      if (text_.compare(at_, 2, "=\"") != 0) fail("attribute " + key + " is not quoted");
      const std::size_t end = text_.find('"', at_ + 2);
      const std::string value = text_.substr(at_ + 2, end - at_ - 2);
      check(value);
      if (!element.attributes.emplace(key, value).second) fail("attribute " + key + " twice");
      at_ = end + 1;
    }
    const bool is_empty = text_[at_] == '/';
    at_ += is_empty ? 1 : 0;
    if (text_.at(at_++) != '>') fail("<" + name + "> has no end");
    elements_.push_back(element);
    if (!is_empty && !is_void(name)) open_.push_back(elements_.size() - 1);
  }

  void content() {
    const std::size_t end = std::min(text_.find('<', at_), text_.size());
    const std::string part = text_.substr(at_, end - at_);
    check(part);
    if (!open_.empty()) elements_[open_.back()].text += part;
    at_ = end;
  }

  std::string word() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && text_.find_first_of(" \n\t\"'=<>/", at_) != at_) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  void check(const std::string& part) const {
    for (std::size_t i = 0; i < part.size(); ++i) {
      const auto c = static_cast<unsigned char>(part[i]);
      if (c == '<' || (c < 0x20 && c != '\n' && c != '\t'))
        fail("a character that does not belong in a text");
      if (c != '&') continue;
      const std::string entity = part.substr(i, part.find(';', i) - i + 1);
      if (entity != "&amp;" && entity != "&lt;" && entity != "&gt;" && entity != "&quot;" &&
          entity != "&#39;")
        fail("a bare &");
    }
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error(what + " near: " + text_.substr(at_ < 60 ? 0 : at_ - 60, 120));
  }

  const std::string& text_;
  std::size_t at_ = 0;
  std::vector<Element> elements_;
  std::vector<std::size_t> open_;
};

}  // namespace hocket::trace::sample
