// The page's data on attention, token paths and predictions. Internal to nn/pages.
#pragma once

#include <tapestry/core/text/json_writer.h>
#include <tapestry/nn/pages/page.h>

namespace tapestry {

/// The members "exact", "attention" and "path", as attention.js and token_path.js read them.
void write_attention(JsonWriter& json, const Inspector& inspector, const PageOptions& options);

/// The page's "predictions"; null without any. Rows are short arrays, because a page may have
/// thousands; predictions.js reads them.
void write_predictions(JsonWriter& json, const Inspector& inspector, const PageOptions& options);

}  // namespace tapestry
