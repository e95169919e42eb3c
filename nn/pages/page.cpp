#include <tapestry/nn/pages/html.h>
#include <tapestry/nn/pages/page.h>
#include <tapestry/nn/pages/page_assets.h>

namespace tapestry {

std::string to_html(const Inspector& inspector, const PageOptions& options) {
    return html_page(page_assets::kInspect, to_json(inspector, options));
}

}  // namespace tapestry
