-- Reports what Neovim shows of the open file as JSON, in the file that $REPORT names.

local function wait(what, found)
  assert(vim.wait(60000, found, 50), what .. " did not come")
end

local ok, report = pcall(function()
  local buffer = vim.api.nvim_get_current_buf()
  wait("the server", function() return #vim.lsp.get_clients({ bufnr = buffer, name = "tvms" }) > 0 end)
  wait("a diagnostic", function() return #vim.diagnostic.get(buffer) > 0 end)
  local diagnostic = vim.diagnostic.get(buffer)[1]
  local client = vim.lsp.get_clients({ bufnr = buffer, name = "tvms" })[1]
  local place = { textDocument = { uri = vim.uri_from_bufnr(buffer) }, position = { line = diagnostic.lnum, character = 16 } }
  local hover = client:request_sync("textDocument/hover", place, 60000, buffer)
  vim.api.nvim_win_set_cursor(0, { diagnostic.lnum + 1, 16 })
  vim.lsp.buf.rename("result")
  wait("the new name", function() return vim.api.nvim_get_current_line():find("result[", 1, true) ~= nil end)
  return {
    language = vim.bo.filetype,
    code = diagnostic.code,
    hover = hover.result.contents.value,
    line = vim.api.nvim_get_current_line(),
    tree = vim.treesitter.get_parser(buffer):parse()[1]:root():type(),
    colors = #vim.treesitter.get_captures_at_pos(buffer, 0, 0),
  }
end)
vim.fn.writefile({ vim.json.encode(ok and report or { error = tostring(report) }) }, vim.env.REPORT)
vim.cmd("qall!")
