// The page's data of attention, of tokens on their way, and of predictions. Internal to nn/pages.
#pragma once

#include <tapestry/core/text/json_writer.h>
#include <tapestry/nn/pages/page.h>

namespace tapestry {

/// The members "exact", "attention" and "path", as heads.js and path.js read them.
void write_attention(JsonWriter& json, const Inspector& inspector, const PageOptions& options);

/// The page's "predictions"; null without any. Rows are short arrays, for a page may have
/// thousands; predictions.js reads them.
void write_predictions(JsonWriter& json, const Inspector& inspector, const PageOptions& options);

}  // namespace tapestry
