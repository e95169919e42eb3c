#include <tapestry/nn/inspect/html.h>
#include <tapestry/nn/inspect/page.h>
#include <tapestry/nn/inspect/page_assets.h>

namespace tapestry {

std::string to_html(const Inspector& inspector, const PageOptions& options) {
    return html_page(page_assets::kInspect, to_json(inspector, options));
}

}  // namespace tapestry
