'use strict';

// The hook after a command: does what it printed hold something that must not be passed on?

const LEAKS = [
  ['private-key', /-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----/],
  ['aws-key', /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/],
  ['github-token', /\bgh[pousr]_[A-Za-z0-9]{36,}\b/],
  ['npm-token', /\bnpm_[A-Za-z0-9]{36}\b/],
  ['url-password', /\b[a-z][a-z0-9+.-]*:\/\/[^\s/:@]+:[^\s/@]+@/],
];

// What was found is named by kind only: a reason must not repeat the secret.
module.exports = {
  method: 'review',
  params: { command: 'string', output: 'string' },
  run({ output }) {
    const found = LEAKS.filter(([, pattern]) => pattern.test(output)).map(([name]) => name);
    return {
      action: found.length ? 'block' : 'pass',
      reasons: found.map((name) => `${name}: the output holds what looks like a secret`),
    };
  },
};
