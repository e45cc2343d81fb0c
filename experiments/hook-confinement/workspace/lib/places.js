'use strict';

// Which words of a command line name a place that matters: the root, a home, a system folder, a disk, a secret. It
// looks at the text alone and never at the file system, so a relative path counts as one inside the workspace.

const path = require('node:path');

const SYSTEM = 'bin boot dev etc home lib lib64 opt proc root sbin srv sys usr var'.split(' ');
const DISK = /^\/dev\/(sd|hd|vd|xvd|nvme|mmcblk|disk\/|mapper\/|md|loop)/;
const SECRETS = [
  [/(^|\/)\.ssh\/(?!.*\.pub$)(id_|.*_key$|.*\.pem$)/, 'a private SSH key'],
  [/(^|\/)\.aws\/credentials$/, 'AWS credentials'],
  [/(^|\/)\.config\/gcloud\//, 'Google Cloud credentials'],
  [/(^|\/)\.kube\/config$/, 'Kubernetes credentials'],
  [/(^|\/)\.docker\/config\.json$/, 'registry credentials'],
  [/(^|\/)\.(netrc|git-credentials|pgpass)$/, 'stored passwords'],
  [/(^|\/)\.gnupg\//, 'a GnuPG key ring'],
  [/^~\/\.npmrc$/, 'an npm token'],
  [/^\/etc\/(shadow|gshadow|sudoers)$/, 'the password file of the system'],
  [/^\/proc\/[^/]+\/(environ|mem)$/, "another process's memory"],
];

// The text with every way to write the own home as "~", and without "." and ".." parts.
function normalised(word) {
  let text = word.text;
  if (word.mask[0] === 'b' || word.mask[0] === 'd') text = text.replace(/^\$(HOME\b|\{HOME\})/, '~');
  if (text.startsWith('~') && word.text[0] === '~' && word.mask[0] !== 'b') return `./${text}`;
  return text === '' ? '' : path.posix.normalize(text);
}

// "root", "home", "system" or "" for what a recursive change of this word would hit.
function territory(word) {
  const text = normalised(word).replace(/\/(\*|\.\*|\{.*\})?$/, '') || '/';
  if (normalised(word) === '') return '';
  if (text === '/') return 'root';
  if (/^~[a-z0-9_-]*$/i.test(text) || /^\/(home\/[^/]+|root)$/.test(text)) return 'home';
  const parts = text.split('/');
  if (parts[0] === '' && SYSTEM.includes(parts[1]) && parts.length <= 3 && parts[1] !== 'home') return 'system';
  return text === '/home' ? 'system' : '';
}

// What secret the word names, or "".
function secret(word) {
  const text = normalised(word);
  const found = SECRETS.find(([pattern]) => pattern.test(text));
  return found ? found[1] : '';
}

function isDisk(text) {
  return DISK.test(text);
}

module.exports = { territory, secret, isDisk, normalised };
