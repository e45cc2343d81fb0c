'use strict';

// The command line. Streams and the user's lookup come in, so that it can be tried without a terminal or a user.

const { readAll, parseFrame, resultLine, errorLine, FrameError } = require('./frame.js');
const { version } = require('../package.json');

const HOOKS = [require('../hooks/pre-command.js'), require('../hooks/post-command.js')];
const STATUS = { pass: 0, warn: 0, block: 2 };
const HELP = `usage: hook-guard inspect [--json]

Reads one JSON-RPC 2.0 frame (one line) from standard input and answers it:

  {"jsonrpc":"2.0","id":1,"method":"inspect","params":{"command":"git status"}}
  {"jsonrpc":"2.0","id":2,"method":"review","params":{"command":"env","output":"PATH=/bin"}}

  --json     answer with one JSON-RPC line instead of plain text
  --help     this text
  --version  the version

exit: 0 pass or warn, 1 error, 2 block
`;

// Answers the frame on `stdin`; returns the exit status.
async function answer({ stdin, stdout, userInfo }, asJson) {
  const { id, hook, params } = parseFrame(await readAll(stdin), HOOKS);
  const { action, reasons } = hook.run(params);
  const user = userInfo().username;
  const text = [action, ...reasons].join('\n  ');
  stdout.write(asJson ? resultLine(id, { action, reasons, user }) : `${text}\n`);
  return STATUS[action];
}

// Runs the command line `argv` (without node and script) and returns the exit status.
async function run(argv, io) {
  if (argv.length === 1 && argv[0] === '--help') return io.stdout.write(HELP), 0;
  if (argv.length === 1 && argv[0] === '--version') return io.stdout.write(`${version}\n`), 0;
  const asJson = argv[1] === '--json';
  if (argv[0] !== 'inspect' || argv.length > (asJson ? 2 : 1)) {
    io.stderr.write(`hook-guard: wrong usage; see hook-guard --help\n`);
    return 1;
  }
  try {
    return await answer(io, asJson);
  } catch (error) {
    if (error instanceof FrameError && asJson) io.stdout.write(errorLine(error));
    io.stderr.write(`hook-guard: ${error.message}\n`);
    return 1;
  }
}

module.exports = { run };
