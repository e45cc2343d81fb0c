'use strict';

// Puts tokens together into pipelines of simple commands, and looks into what runs another command: substitutions,
// `sh -c`, `eval`, `sudo`, `env`. It does not know which command is dangerous.

const path = require('node:path');
const { tokenise, ShellSyntaxError } = require('./tokenise.js');

const MAX_DEPTH = 8;
const SHELLS = new Set(['sh', 'bash', 'dash', 'zsh', 'ksh', 'ash', 'fish']);
const REDIRECTS = new Set(['<', '>', '>>', '<<', '<<<', '>&', '<&', '>|', '&>', '&>>']);
const PIPES = new Set(['|', '|&']);
const KEYWORDS = new Set(['{', '}', '!', 'if', 'then', 'else', 'elif', 'fi', 'do', 'done', 'while', 'until']);
// Commands that run the command after them, with those of their options that take a value.
const WRAPPERS = new Map([
  ['sudo', ['-u', '-g', '-h', '-p', '-C', '-D', '-r', '-t']],
  ['doas', ['-u', '-C']],
  ['env', ['-u', '-C', '-S']],
  ['nice', ['-n']],
  ['timeout', ['-k', '-s']],
  ['xargs', ['-I', '-n', '-P', '-L', '-d', '-a', '-s', '-E']],
  ['nohup', []],
  ['setsid', []],
  ['command', []],
  ['exec', ['-a']],
  ['builtin', []],
  ['time', []],
  ['busybox', []],
]);

function isAssignment(word) {
  return /^[A-Za-z_][A-Za-z0-9_]*=/.test(word.text) && word.mask[0] === 'b';
}

function isKeyword(word) {
  return KEYWORDS.has(word.text) && word.mask[0] === 'b';
}

// How many of `words` belong to a wrapper itself: its name, its options, its assignments.
function wrapperLength(name, words) {
  const valued = WRAPPERS.get(name);
  let at = 1;
  while (at < words.length) {
    const text = words[at].text;
    if (text === '--') return at + 1;
    if (valued.includes(text)) at += 2;
    else if (text.startsWith('-') || (name === 'env' && isAssignment(words[at]))) at++;
    else break;
  }
  return name === 'timeout' ? at + 1 : at;
}

// A simple command from its words and redirects: `name` without its folder, `args` after it, `wrappers` before it.
function commandNew(words, redirects) {
  let rest = words.slice();
  const wrappers = [];
  while (rest.length && (isAssignment(rest[0]) || isKeyword(rest[0]))) rest.shift();
  while (rest.length > 1 && WRAPPERS.has(path.basename(rest[0].text))) {
    const name = path.basename(rest[0].text);
    const length = wrapperLength(name, rest);
    if (length >= rest.length) break;
    wrappers.push(name);
    rest = rest.slice(length);
  }
  return { name: rest.length ? path.basename(rest[0].text) : '', args: rest.slice(1), redirects, wrappers, words };
}

// The texts that a command hands to a shell as a script: `sh -c TEXT`, `eval TEXT...`.
function scriptsOf(command) {
  if (command.name === 'eval') return [command.args.map((word) => word.text).join(' ')];
  if (!SHELLS.has(command.name)) return [];
  const flag = command.args.findIndex((word) => /^-[a-z]*c[a-z]*$/.test(word.text));
  return flag >= 0 && command.args[flag + 1] ? [command.args[flag + 1].text] : [];
}

// Splits tokens into pipelines. Brackets of subshells end a command and are otherwise passed over.
function pipelinesOf(tokens) {
  const pipelines = [];
  let pipeline = [];
  let words = [];
  let redirects = [];
  const endCommand = () => {
    if (words.length || redirects.length) pipeline.push(commandNew(words, redirects));
    words = [];
    redirects = [];
  };
  const endPipeline = () => {
    endCommand();
    if (pipeline.length) pipelines.push(pipeline);
    pipeline = [];
  };
  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at];
    if (token.kind === 'word') words.push(token);
    else if (PIPES.has(token.text)) endCommand();
    else if (!REDIRECTS.has(token.text)) endPipeline();
    else if (tokens[at + 1]?.kind === 'word') redirects.push({ operator: token.text, target: tokens[++at] });
    else throw new ShellSyntaxError(`nothing follows ${token.text}`);
  }
  endPipeline();
  return pipelines;
}

// All pipelines of a command line, those of nested scripts too, and the token lists they came from.
function parse(source, depth = 0) {
  if (depth > MAX_DEPTH) throw new ShellSyntaxError(`scripts are nested more than ${MAX_DEPTH} deep`);
  const tokens = tokenise(source);
  const pipelines = pipelinesOf(tokens);
  const scripts = tokens.flatMap((token) => (token.nested ?? []).map((nested) => nested.source));
  for (const command of pipelines.flat()) scripts.push(...scriptsOf(command));
  const inner = scripts.map((script) => parse(script, depth + 1));
  return {
    pipelines: pipelines.concat(...inner.map((part) => part.pipelines)),
    tokenLists: [tokens].concat(...inner.map((part) => part.tokenLists)),
  };
}

module.exports = { parse, ShellSyntaxError, SHELLS };
