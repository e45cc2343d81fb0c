'use strict';

// The rules, each by itself: what it looks for, how bad that is, and why. A rule sees one command, or one pipeline, or
// the tokens of one script, and returns what it objects to ("" for nothing). Rules do not know each other.

const { SHELLS } = require('./parse.js');
const { territory, secret, isDisk } = require('./places.js');

const DOWNLOADERS = new Set(['curl', 'wget', 'fetch', 'aria2c', 'http', 'https']);
const DECODERS = new Set(['base64', 'base32', 'xxd', 'uudecode', 'openssl']);
const INTERPRETERS = new Set([...SHELLS, 'python', 'python3', 'node', 'perl', 'ruby', 'php']);
const SENDERS = new Set(['curl', 'wget', 'nc', 'ncat', 'netcat', 'socat', 'telnet', 'ssh', 'scp', 'mail']);
const WRITES = new Set(['>', '>>', '>|', '&>', '&>>']);

// Whether a command has a short flag letter (alone or in a bundle) or one of the long options.
function hasFlag(command, letters, ...longs) {
  return command.args.some(({ text }) => {
    if (text.startsWith('--')) return longs.includes(text.split('=')[0]);
    return /^-[A-Za-z]+$/.test(text) && [...letters].some((letter) => text.includes(letter));
  });
}

function operands(command) {
  return command.args.filter(({ text }) => !text.startsWith('-'));
}

function textsOf(words) {
  return words.map(({ text }) => text);
}

// The words by which a command can name a file: its arguments and its redirects.
function placesOf(command) {
  return [...command.args, ...command.redirects.map(({ target }) => target)];
}

// Where a recursive command would do harm, as part of a sentence.
function wideTarget(words) {
  const hit = words.find((word) => territory(word) !== '');
  return hit ? `${hit.text} (${territory(hit)})` : '';
}

function removeWide(command) {
  if (command.name === 'rm' && hasFlag(command, 'rR', '--recursive')) return wideTarget(operands(command));
  const texts = textsOf(command.args);
  const deletes = texts.includes('-delete') || texts.some((text, at) => text === '-exec' && texts[at + 1] === 'rm');
  return command.name === 'find' && deletes ? wideTarget(command.args.slice(0, 1)) : '';
}

function removeWorkspace(command) {
  if (command.name !== 'rm' || !hasFlag(command, 'rR', '--recursive')) return '';
  return operands(command).find(({ text }) => /^(\.\/?|\.?\/?\*|(\.\/)?\.git\/?|\.\.?\/\*?)$/.test(text))?.text ?? '';
}

function openPermissions(command) {
  if (command.name !== 'chmod') return '';
  return operands(command).find(({ text }) => /^[0-7]{0,3}[2367]$|^(a|o|ugo)[+=][rwx]*w[rwx]*$/.test(text))?.text ?? '';
}

function openPermissionsWide(command) {
  return openPermissions(command) && hasFlag(command, 'R', '--recursive') ? wideTarget(operands(command).slice(1)) : '';
}

function ownerWide(command) {
  return command.name === 'chown' && hasFlag(command, 'R', '--recursive') ? wideTarget(operands(command).slice(1)) : '';
}

// The files that a command writes: by redirects, by tee, by dd.
function writtenTo(command) {
  const texts = command.redirects.filter(({ operator }) => WRITES.has(operator)).map(({ target }) => target.text);
  if (command.name === 'tee') texts.push(...textsOf(operands(command)));
  if (command.name === 'dd') texts.push(...textsOf(command.args).map((text) => /^of=(.*)/.exec(text)?.[1] ?? ''));
  return texts;
}

function diskWrite(command) {
  const texts = writtenTo(command);
  if (/^(mkfs(\..+)?|wipefs|shred|blkdiscard|sgdisk)$/.test(command.name)) texts.push(...textsOf(operands(command)));
  return texts.find(isDisk) ?? '';
}

function systemWrite(command) {
  return writtenTo(command).find((text) => /^\/(etc|boot|usr|lib|bin|sbin)\//.test(text)) ?? '';
}

function pushRefs(command) {
  const [verb, ...rest] = operands(command);
  return command.name === 'git' && verb?.text === 'push' ? textsOf(rest.slice(1)) : null;
}

function isForced(command, refs) {
  return hasFlag(command, 'f', '--force', '--mirror') || refs.some((ref) => ref.startsWith('+'));
}

function forcePush(command) {
  const refs = pushRefs(command);
  return refs && isForced(command, refs) ? refs.join(' ') || 'the current branch' : '';
}

function forcePushShared(command) {
  const refs = pushRefs(command);
  const isShared = (ref) => /(^|[/:+])(main|master|trunk|release[^:]*)$/.test(ref);
  return refs && isForced(command, refs) ? refs.find(isShared) ?? '' : '';
}

function gitLoses(command) {
  if (command.name !== 'git') return '';
  const verb = operands(command)[0]?.text;
  if (verb === 'reset' && hasFlag(command, '', '--hard')) return 'git reset --hard';
  return verb === 'clean' && hasFlag(command, 'f', '--force') ? 'git clean' : '';
}

// The secret in a word as it stands, or behind a "name=" or "@" as in dd if=FILE and curl -d @FILE.
function secretIn(word) {
  return secret(word) || secret({ ...word, text: word.text.replace(/^[^=@]*[=@]/, ''), mask: 'b' });
}

function readsSecret(command) {
  return placesOf(command).map(secretIn).find(Boolean) ?? '';
}

function leavesMachine(command) {
  return /^(shutdown|reboot|halt|poweroff)$/.test(command.name) ? command.name : '';
}

function asOtherUser(command) {
  return command.wrappers.find((name) => name === 'sudo' || name === 'doas') ?? (command.name === 'su' ? 'su' : '');
}

function publishes(command) {
  const verb = operands(command)[0]?.text;
  return /^(npm|yarn|pnpm|cargo)$/.test(command.name) && verb === 'publish' ? `${command.name} publish` : '';
}

// A stage of a pipeline that runs what it is fed: an interpreter without a script of its own.
function runsInput(command) {
  if (!INTERPRETERS.has(command.name) || hasFlag(command, 'c')) return false;
  return operands(command).every(({ text }) => text === '-');
}

function pipesInto(pipeline, sources) {
  const from = pipeline.findIndex(({ name }) => sources.has(name));
  const into = from < 0 ? undefined : pipeline.slice(from + 1).find(runsInput);
  return into ? `${pipeline[from].name} | ${into.name}` : '';
}

// The same by substitution: sh -c "$(curl ...)", bash <(curl ...), eval "$(curl ...)".
function substitutes(command) {
  if (!SHELLS.has(command.name) && !['eval', 'source', '.'].includes(command.name)) return '';
  const nested = placesOf(command).flatMap((word) => word.nested);
  const hit = nested.map(({ source }) => source.trim().split(/\s+/)[0]).find((name) => DOWNLOADERS.has(name));
  return hit ? `${command.name} with the output of ${hit}` : '';
}

function sendsEnvironment(pipeline) {
  const [first, ...rest] = pipeline;
  const into = rest.find(({ name }) => SENDERS.has(name));
  return into && /^(env|printenv)$/.test(first.name) && first.args.length === 0 ? `${first.name} | ${into.name}` : '';
}

// name() { name | name & }: a function that starts itself twice.
function forkBomb(tokens) {
  const texts = textsOf(tokens);
  for (let at = 0; at + 3 < texts.length; at++) {
    const [name, open, close, brace] = texts.slice(at, at + 4);
    if (tokens[at].kind !== 'word' || open !== '(' || close !== ')' || brace !== '{') continue;
    const end = texts.indexOf('}', at + 4);
    const body = texts.slice(at + 4, end < 0 ? texts.length : end);
    const calls = body.filter((text) => text === name).length;
    if (calls >= 2 && body.some((text) => text === '|' || text === '&')) return `${name} starts itself twice`;
  }
  return '';
}

// [name, action, what it sees, what finds it, why it matters]
const RULES = [
  ['remove-wide', 'block', 'command', removeWide, 'removes a whole system or home folder'],
  ['remove-workspace', 'warn', 'command', removeWorkspace, 'removes the workspace or its history'],
  ['pipe-to-shell', 'block', 'pipeline', (line) => pipesInto(line, DOWNLOADERS), 'runs what it downloads, unseen'],
  ['substitute-to-shell', 'block', 'command', substitutes, 'runs what it downloads, unseen'],
  ['decode-to-shell', 'block', 'pipeline', (line) => pipesInto(line, DECODERS), 'runs hidden text'],
  ['fork-bomb', 'block', 'tokens', forkBomb, 'starts processes without end'],
  ['disk-write', 'block', 'command', diskWrite, 'overwrites a disk'],
  ['permissions-wide', 'block', 'command', openPermissionsWide, 'opens a whole system or home folder to everyone'],
  ['permissions-open', 'warn', 'command', openPermissions, 'lets everyone write'],
  ['owner-wide', 'block', 'command', ownerWide, 'gives a whole system or home folder away'],
  ['system-write', 'warn', 'command', systemWrite, 'changes a file of the system'],
  ['force-push-shared', 'block', 'command', forcePushShared, 'rewrites a branch that others build on'],
  ['force-push', 'warn', 'command', forcePush, 'rewrites a branch that was published'],
  ['git-loses', 'warn', 'command', gitLoses, 'throws away work that is not committed'],
  ['reads-secret', 'block', 'command', readsSecret, 'touches a secret'],
  ['sends-environment', 'block', 'pipeline', sendsEnvironment, 'sends the environment away'],
  ['leaves-machine', 'block', 'command', leavesMachine, 'stops the machine'],
  ['other-user', 'warn', 'command', asOtherUser, 'runs as another user'],
  ['publishes', 'warn', 'command', publishes, 'publishes a package'],
].map(([name, action, on, find, why]) => ({ name, action, on, find, why }));

module.exports = { RULES };
