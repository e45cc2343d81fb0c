'use strict';

// The hook before a command: is this command line one to run?

const { inspect } = require('../lib/inspect.js');

module.exports = {
  method: 'inspect',
  params: { command: 'string' },
  run({ command }) {
    return inspect(command);
  },
};
