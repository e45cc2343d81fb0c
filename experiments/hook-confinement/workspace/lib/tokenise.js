'use strict';

// Splits a command line into words and operators as a POSIX shell would, and expands nothing. It knows quotes, escapes,
// comments and substitutions; it does not know what a command is.

const OPERATORS = '&>> <<< && || ;; >> << >& <& >| &> |& | & ; < > ( )'.split(' ');

// Thrown for text that no shell would accept: an open quote, an open substitution.
class ShellSyntaxError extends Error {}

// A word under construction. `mask` has one letter for each character of `text`: b for bare, d for one inside double
// quotes, l for a literal one (single quotes, backslash).
function wordNew() {
  return { kind: 'word', text: '', mask: '', nested: [] };
}

function wordAdd(word, text, how) {
  word.text += text;
  word.mask += how.repeat(text.length);
}

// The index just after the bracket that closes a substitution whose content starts at `from`.
function substitutionEnd(source, from) {
  let depth = 1;
  let quote = '';
  for (let at = from; at < source.length; at++) {
    const c = source[at];
    if (c === '\\' && quote !== "'") at++;
    else if (quote) quote = c === quote ? '' : quote;
    else if (c === "'" || c === '"') quote = c;
    else if (c === '(') depth++;
    else if (c === ')' && --depth === 0) return at + 1;
  }
  throw new ShellSyntaxError('a substitution is not closed');
}

function backtickEnd(source, from) {
  for (let at = from; at < source.length; at++) {
    if (source[at] === '\\') at++;
    else if (source[at] === '`') return at + 1;
  }
  throw new ShellSyntaxError('a backtick is not closed');
}

// Takes a substitution that starts at `at`, if one does: returns the index after it, else `at`.
function takeSubstitution(source, at, word, how) {
  const opener = source.slice(at, at + 2);
  const opens = opener === '$(' || (how === 'b' && (opener === '<(' || opener === '>('));
  let end = at;
  if (opens) {
    end = substitutionEnd(source, at + 2);
    word.nested.push({ opener, source: source.slice(at + 2, end - 1) });
  } else if (source[at] === '`') {
    end = backtickEnd(source, at + 1);
    word.nested.push({ opener: '`', source: source.slice(at + 1, end - 1).replace(/\\([`\\$])/g, '$1') });
  }
  wordAdd(word, source.slice(at, end), how);
  return end;
}

function takeDoubleQuoted(source, from, word) {
  let at = from;
  while (at < source.length && source[at] !== '"') {
    const after = takeSubstitution(source, at, word, 'd');
    if (after > at) {
      at = after;
    } else if (source[at] === '\\' && '$`"\\\n'.includes(source[at + 1] ?? '')) {
      if (source[at + 1] !== '\n') wordAdd(word, source[at + 1], 'l');
      at += 2;
    } else {
      wordAdd(word, source[at++], 'd');
    }
  }
  if (at >= source.length) throw new ShellSyntaxError('a double quote is not closed');
  return at + 1;
}

function takeSingleQuoted(source, from, word) {
  const end = source.indexOf("'", from);
  if (end < 0) throw new ShellSyntaxError('a single quote is not closed');
  wordAdd(word, source.slice(from, end), 'l');
  return end + 1;
}

// Takes the word that starts at `from`. Returns it with the index after it.
function takeWord(source, from) {
  const word = wordNew();
  let at = from;
  while (at < source.length && !/[\s;&|()]/.test(source[at])) {
    const c = source[at];
    const after = takeSubstitution(source, at, word, 'b');
    if (after > at) at = after;
    else if (c === '<' || c === '>') break;
    else if (c === "'") at = takeSingleQuoted(source, at + 1, word);
    else if (c === '"') at = takeDoubleQuoted(source, at + 1, word);
    else if (c !== '\\') wordAdd(word, source[at++], 'b');
    else {
      if (source[at + 1] !== undefined && source[at + 1] !== '\n') wordAdd(word, source[at + 1], 'l');
      at += 2;
    }
  }
  return { word, at };
}

// The words and operators of a command line, in order. A line end is the operator ";".
function tokenise(source) {
  const tokens = [];
  let at = 0;
  while (at < source.length) {
    const rest = source.slice(at, at + 3);
    const operator = OPERATORS.find((text) => rest.startsWith(text));
    const startsWord = rest.startsWith('<(') || rest.startsWith('>(');
    if (source[at] === '\n') {
      tokens.push({ kind: 'operator', text: ';' });
      at++;
    } else if (/\s/.test(source[at])) {
      at++;
    } else if (source[at] === '#') {
      while (at < source.length && source[at] !== '\n') at++;
    } else if (operator && !startsWord) {
      tokens.push({ kind: 'operator', text: operator });
      at += operator.length;
    } else {
      const taken = takeWord(source, at);
      tokens.push(taken.word);
      at = taken.at;
    }
  }
  return tokens;
}

module.exports = { tokenise, ShellSyntaxError };
