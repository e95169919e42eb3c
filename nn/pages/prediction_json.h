// The page's data of predictions. Internal to nn/pages.
#pragma once

#include <tapestry/core/text/json_writer.h>
#include <tapestry/nn/pages/page.h>

namespace tapestry {

/// null without predictions. Rows are short arrays, for a page may have thousands; predictions.js
/// reads them.
void write_predictions(JsonWriter& json, const Inspector& inspector, const PageOptions& options);

}  // namespace tapestry
