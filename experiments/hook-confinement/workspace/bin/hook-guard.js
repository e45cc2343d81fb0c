#!/usr/bin/env node
'use strict';

const os = require('node:os');
const { run } = require('../lib/cli.js');

const io = { stdin: process.stdin, stdout: process.stdout, stderr: process.stderr, userInfo: () => os.userInfo() };

// The status is set, not exited with: what was written must still be flushed.
run(process.argv.slice(2), io).then((status) => {
  process.exitCode = status;
  process.stdin.destroy();
});
