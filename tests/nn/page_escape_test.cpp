// A page contains strings from files: tokens, names, paths, messages. For any strings, the page's
// elements stay the same and its script receives the strings unchanged. For scripts treating them
// as text, see tests/frame/forbidden_calls_test.cpp and, in a browser, tests/npm/hostile_pages.js.
#include <tapestry/core/create.h>
#include <tapestry/nn/models/gpt.h>
#include <tapestry/nn/pages/page.h>
#include <tapestry/nn/pages/report.h>
#include <tapestry/tests/nn/support.h>

#include <nlohmann/json.hpp>

using namespace tapestry;
using Json = nlohmann::json;

namespace {

const std::vector<std::string> kHostile{"</script><script>alert(1)</script>",
                                        "<img src=x onerror=alert(1)>",
                                        "<!--<script>",
                                        "-->]]>",
                                        "\"'&`\\",
                                        "\\u003c/script>",
                                        "\u2028\u2029\x7F\u009B\u202E",
                                        "javascript:alert(1)",
                                        "__proto__",
                                        "\x1B[2J\n"};

struct Parts {
    std::string around;  ///< the page without its data
    Json data;
};

Parts parts_of(const std::string& page) {
    const std::string begin = "<script type=\"application/json\" id=\"data\">";
    const std::size_t from = page.find(begin) + begin.size(), to = page.find("</script>", from);
    const std::string data = page.substr(from, to - from);
    CHECK_EQ(data.find('<'), std::string::npos);
    return {page.substr(0, from) + page.substr(to), Json::parse(data)};
}

// A GPT with a custom name.
class Named : public Module {
public:
    Named(const std::string& name, Generator& generator)
        : Module("Named"),
          gpt({.vocab = 5, .context = 4, .layers = 1, .heads = 1, .dim = 4}, generator) {
        register_module(name, gpt);
    }
    GPT gpt;
};

std::string inspect_page(const std::string& text) {
    Generator generator(1);
    const Named model(text, generator);
    Inspector inspector(model);
    const Tensor ids = tensor<std::int64_t>({1, 2, 3}, {1, 3});
    Tape tape;
    tape.backward(model.gpt.loss(ids, ids));
    inspector.finish();
    return to_html(inspector, {.title = text,
                               .subtitle = text,
                               .texts = {{.queries = {text, text, text}}},
                               .name_of = [&](std::int64_t) { return text; },
                               .prompt = text,
                               .model_directory = text});
}

std::string report_page(const std::string& text) {
    TrainingReport report({.title = text,
                           .subtitle = text,
                           .command = text,
                           .rewind = text,
                           .options = {{text, text, text}},
                           .expected = {{text, 1, text}},
                           .sentence = {text, text},
                           .name_of = [&](std::int64_t) { return text; }});
    report.set_processes({{.host = text}, {.host = text}});
    for (std::int64_t step = 1; step <= 100; ++step) {
        report.add({.step = step, .loss = step == 100 ? 50.0 : 1 + 0.01 * (step % 2 == 0)});
    }
    SentenceProbe look;
    look.rows.push_back({.right = 1, .likeliest = {{1, 0.5}}});
    report.add({.step = 100, .sample = text, .flow = {{.name = text, .shape = {1}}}, .look = look});
    return to_html(report, {.state = TrainingState::failed, .message = text});
}

}  // namespace

TEST_CASE("page escape: a page of tapestry inspect, with any strings") {
    const Parts harmless = parts_of(inspect_page("x"));
    for (const std::string& text : kHostile) {
        CAPTURE(text);
        const Parts page = parts_of(inspect_page(text));
        CHECK(page.around == harmless.around);
        for (const char* name : {"title", "subtitle", "prompt"}) CHECK_EQ(page.data[name], text);
        CHECK_EQ(page.data["attention"][0]["queryTexts"][0], text);
        CHECK_EQ(page.data["predictions"]["names"]["1"], text);
        CHECK(page.data["parameters"][0]["name"].get<std::string>().starts_with(text + "."));
        CHECK_EQ(page.data["entries"].size(), harmless.data["entries"].size());
    }
}

TEST_CASE("page escape: a report, with any strings") {
    const Parts harmless = parts_of(report_page("x"));
    for (const std::string& text : kHostile) {
        CAPTURE(text);
        const Parts page = parts_of(report_page(text));
        CHECK(page.around == harmless.around);
        for (const char* name : {"title", "subtitle"}) CHECK_EQ(page.data[name], text);
        CHECK_EQ(page.data["status"]["message"], text);
        CHECK_EQ(page.data["recipe"]["command"], text);
        CHECK_EQ(page.data["recipe"]["options"][0]["value"], text);
        CHECK_EQ(page.data["recipe"]["expected"][0]["name"], text);
        CHECK(page.data["spikes"][0]["command"].get<std::string>().starts_with(text));
        CHECK_EQ(page.data["processes"][1]["host"], text);
        CHECK_EQ(page.data["parameters"][0]["name"], text);
        CHECK_EQ(page.data["sentence"]["tokens"][0], text);
        CHECK_EQ(page.data["sentence"]["names"]["1"], text);
        CHECK_EQ(page.data["evaluations"][0]["sample"], text);
    }
}
