-- Plays a person in Neovim: types a mistake and takes it back, looks at the kernel's card, optimises it and waits for the
-- verdict, and undoes the step. Neovim has the file open, and the set-up of docs/editors.md for its version as its init
-- file. What was seen goes to $RESULT as JSON.

local patience = 120 -- seconds: a worker that imports torch on a busy machine takes its time
local seen = { messages = {}, progress = {} }

-- What `look` returns, once that is something; an error that names `what` after a while.
local function wait_for(what, look)
  local found
  local function has_come()
    found = look()
    return found
  end
  assert(vim.wait(patience * 1000, has_come, 50), ('not within %d seconds: %s'):format(patience, what))
  return found
end

local function text()
  return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, true), '\n') .. '\n'
end

local function go_to(words)
  vim.api.nvim_win_set_cursor(0, { 1, 0 })
  assert(vim.fn.search('\\V' .. words, 'c') > 0, words .. ' is not in the file')
end

-- The messages of the diagnostics, once one of them has this code.
local function shown(code)
  return function()
    local found = vim.diagnostic.get(0)
    for _, diagnostic in ipairs(found) do
      if diagnostic.code == code then
        return vim.tbl_map(function(one) return one.message end, found)
      end
    end
  end
end

-- The text of the window that floats above the others, where Neovim shows a hover.
local function floating()
  for _, window in ipairs(vim.api.nvim_list_wins()) do
    if vim.api.nvim_win_get_config(window).relative ~= '' then
      return table.concat(vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(window), 0, -1, true), '\n')
    end
  end
end

-- Answers every menu with the item of this title.
local function choose(title)
  vim.ui.select = function(items, options, answer)
    seen.menu = vim.tbl_map(options.format_item, items)
    for place, shown_title in ipairs(seen.menu) do
      if vim.startswith(shown_title, title) then
        return answer(items[place], place)
      end
    end
    error(title .. ' is not in the menu')
  end
end

-- Notes the words of every progress report that Neovim shows.
local function note_progress()
  local show = vim.lsp.handlers['$/progress']
  vim.lsp.handlers['$/progress'] = function(problem, report, ...)
    table.insert(seen.progress, report.value.message or report.value.title)
    return show(problem, report, ...)
  end
end

local function play()
  local original = text()
  vim.notify = function(message) table.insert(seen.messages, message) end
  note_progress()

  go_to('tl.load')
  vim.cmd([[substitute/, other=-float("inf")//]])
  seen.findings = wait_for('a finding', shown('triton.masked-load-reduced'))
  vim.cmd('silent undo')
  wait_for('no finding', function() return #vim.diagnostic.get(0) == 0 end)

  go_to('softmax_kernel')
  vim.lsp.buf.hover()
  seen.card = wait_for('the card', floating)

  choose('Optimize kernel: Reduce rows online')
  vim.lsp.buf.code_action()
  wait_for('the edit', function() return text() ~= original end)
  seen.optimized = text()
  seen.verdict = wait_for('the verdict', shown('triton.online-reduction'))

  vim.cmd('silent undo')
  seen.undone = text() == original
end

local fine, problem = xpcall(play, debug.traceback)
seen.error = not fine and problem or nil
vim.fn.writefile({ vim.json.encode(seen) }, os.getenv('RESULT'))
vim.cmd('qall!')
