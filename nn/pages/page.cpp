#include <tapestry/nn/pages/page.h>

#include <tapestry/nn/pages/html.h>
#include <tapestry/nn/pages/live_page.h>
#include <tapestry/nn/pages/page_assets.h>

namespace tapestry {

std::vector<PageText> texts_of_both(const std::vector<std::string>& read,
                                    const std::vector<std::string>& written) {
    return {{.module = "encoder", .queries = read},
            {.module = "decoder", .queries = written, .keys = read}};
}

std::string to_html(const Inspector& inspector, const PageOptions& options) {
    return html_page(page_assets::kInspect, to_json(inspector, options), {},
                     live_elements(options.model_directory));
}

}  // namespace tapestry
