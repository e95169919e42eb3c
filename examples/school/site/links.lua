-- pandoc's filter for the site: links to documents, headers and sources lead to their pages, pages know what they
-- are called, and what is wider than the page scrolls by itself, by keyboard as well.
local title

function Link(link)
  if not link.target:match('^%a+:') then
    link.target = link.target:gsub('%.md$', '.html'):gsub('%.md#', '.html#'):gsub('%.h$', '.h.html')
      :gsub('%.cpp$', '.cpp.html')
  end
  return link
end

function Header(header)
  if header.level == 1 and not title then title = header.content end
end

function CodeBlock(block)
  block.attributes.tabindex = '0'
  return block
end

-- Names of several letters are upright: browsers do not know MathML's way to say so of \mathrm's.
function Math(math)
  math.text = math.text:gsub('\\mathrm(%b{})', '\\text%1')
  return math
end

function Para(paragraph)
  local first = paragraph.content[1]
  if #paragraph.content == 1 and first.t == 'Math' and first.mathtype == 'DisplayMath' then
    return pandoc.Div({ paragraph }, { class = 'formula', tabindex = '0' })
  end
end

-- GitHub wants a space before a formula; after full-width punctuation it would be seen.
local full_width = { ['，'] = true, ['。'] = true, ['；'] = true, ['：'] = true, ['、'] = true,
                     ['（'] = true, ['）'] = true, ['“'] = true, ['”'] = true }
function Inlines(inlines)
  for i = #inlines - 1, 2, -1 do
    local before, after = inlines[i - 1], inlines[i + 1]
    if inlines[i].t == 'Space' and after.t == 'Math' and before.t == 'Str' and
       full_width[before.text:sub(-3)] then
      inlines:remove(i)
    end
  end
  return inlines
end

function Table(table)
  return pandoc.Div({ table }, { class = 'table', tabindex = '0' })
end

function Pandoc(document)
  document.meta.title = document.meta.title or title
  document.meta.pagetitle = pandoc.utils.stringify(document.meta.title or 'Tapestry')
  document.meta.title = nil
  return document
end
