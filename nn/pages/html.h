// The file around a page's data: its script and style stand in it, and its content security policy
// names these two by their hashes and forbids all else. Internal to nn/pages; page.h and report.h
// are the pages.
#pragma once

#include <tapestry/nn/pages/page_assets.h>

#include <string>

namespace tapestry {

/// `json` becomes the element #data, which the script reads. `policy`: further directives, for what
/// this page may do besides running its script. `live`: live_elements().
std::string html_page(const PageAssets& assets, const std::string& json,
                      const std::string& policy = {}, const std::string& live = {});

/// The nearest number of six decimal digits: pages are read by people, and have to be small.
double six_digits(double x);

}  // namespace tapestry
