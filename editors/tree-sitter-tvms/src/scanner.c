// Line ends and indentation: the tokens NEWLINE, INDENT and DEDENT of grammar/tvms.lark. All three are empty; the white
// space and the comments after them are read as extras. The closing brackets are external so that the scanner knows
// when they may follow: inside brackets, lines have no end.

#include "tree_sitter/parser.h"

#include <stdlib.h>

enum Token { NEWLINE, INDENT, DEDENT, CLOSE_PAREN, CLOSE_BRACKET, CLOSE_BRACE };

#define MAX_BLOCKS (TREE_SITTER_SERIALIZATION_BUFFER_SIZE / 2)
#define TAB_WIDTH 8
#define MAX_COLUMN UINT16_MAX

typedef struct {
  uint32_t depth;
  uint16_t columns[MAX_BLOCKS];  // of the open blocks, innermost last; none for the file itself
} Scanner;

typedef struct {
  bool found_end;           // a line end, or the end of the text
  uint32_t column;          // of the next statement
  int32_t comment_column;   // of the first comment on a line of its own, or -1
} Gap;

void *tree_sitter_tvms_external_scanner_create(void) { return calloc(1, sizeof(Scanner)); }

void tree_sitter_tvms_external_scanner_destroy(void *payload) { free(payload); }

unsigned tree_sitter_tvms_external_scanner_serialize(void *payload, char *buffer) {
  const Scanner *scanner = payload;
  for (uint32_t index = 0; index < scanner->depth; index++) {
    buffer[2 * index] = (char)(scanner->columns[index] & 0xFF);
    buffer[2 * index + 1] = (char)(scanner->columns[index] >> 8);
  }
  return 2 * scanner->depth;
}

void tree_sitter_tvms_external_scanner_deserialize(void *payload, const char *buffer, unsigned length) {
  Scanner *scanner = payload;
  scanner->depth = length / 2;
  for (uint32_t index = 0; index < scanner->depth; index++) {
    uint16_t low = (uint8_t)buffer[2 * index], high = (uint8_t)buffer[2 * index + 1];
    scanner->columns[index] = (uint16_t)(low | high << 8);
  }
}

static void skip(TSLexer *lexer) { lexer->advance(lexer, true); }

static void skip_comment(TSLexer *lexer) {
  while (lexer->lookahead != '\n' && !lexer->eof(lexer)) skip(lexer);
}

// Skip white space and lines of comments; return false at a token on the same line, or a comment after a statement.
static bool scan_gap(TSLexer *lexer, Gap *gap) {
  *gap = (Gap){false, 0, -1};
  for (;;) {
    if (lexer->eof(lexer)) {
      gap->found_end = true;
      gap->column = 0;
      return true;
    }
    switch (lexer->lookahead) {
      case '\n':
        gap->found_end = true;
        gap->column = 0;
        skip(lexer);
        break;
      case ' ':
        gap->column++;
        skip(lexer);
        break;
      case '\t':
        gap->column += TAB_WIDTH - gap->column % TAB_WIDTH;
        skip(lexer);
        break;
      case '\r':
      case '\f':
        gap->column = 0;
        skip(lexer);
        break;
      case '\\':
        skip(lexer);
        if (lexer->lookahead == '\r') skip(lexer);
        if (lexer->lookahead != '\n') return false;
        skip(lexer);
        break;
      case '#':
        if (!gap->found_end) return false;
        if (gap->comment_column < 0) gap->comment_column = (int32_t)gap->column;
        skip_comment(lexer);
        break;
      default:
        return gap->found_end;
    }
  }
}

bool tree_sitter_tvms_external_scanner_scan(void *payload, TSLexer *lexer, const bool *valid) {
  Scanner *scanner = payload;
  bool is_recovering = valid[NEWLINE] && valid[INDENT] && valid[DEDENT];
  bool in_brackets = valid[CLOSE_PAREN] || valid[CLOSE_BRACKET] || valid[CLOSE_BRACE];
  if (!valid[NEWLINE] && !valid[INDENT] && !valid[DEDENT]) return false;
  if (in_brackets && !is_recovering) return false;
  Gap gap;
  lexer->mark_end(lexer);
  if (!scan_gap(lexer, &gap)) return false;
  uint32_t current = scanner->depth ? scanner->columns[scanner->depth - 1] : 0;
  if (valid[INDENT] && gap.column > current && gap.column <= MAX_COLUMN && scanner->depth < MAX_BLOCKS) {
    scanner->columns[scanner->depth++] = (uint16_t)gap.column;
    lexer->result_symbol = INDENT;
    return true;
  }
  // A comment that is indented as the block belongs to it: it is read first.
  if (valid[DEDENT] && scanner->depth && gap.column < current && gap.comment_column < (int32_t)current) {
    scanner->depth--;
    lexer->result_symbol = DEDENT;
    return true;
  }
  if (valid[NEWLINE] && !is_recovering) {
    lexer->result_symbol = NEWLINE;
    return true;
  }
  return false;
}
