'use strict';

// JSON-RPC 2.0 frames: one line of bounded size in, one line out. It knows no rule.

const MAX_BYTES = 65536;

// A refusal that is told to the caller as a JSON-RPC error object.
class FrameError extends Error {
  constructor(code, message, id = null) {
    super(message);
    this.code = code;
    this.id = id;
  }
}

// Reads a stream to its end, or until it is larger than a frame may be.
async function readAll(stream) {
  const chunks = [];
  let size = 0;
  for await (const chunk of stream) {
    size += chunk.length;
    if (size > MAX_BYTES) throw new FrameError(-32600, `the frame is larger than ${MAX_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function textOf(bytes) {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new FrameError(-32700, 'the frame is not UTF-8');
  }
}

function jsonOf(text) {
  try {
    return JSON.parse(text);
  } catch {
    throw new FrameError(-32700, 'the frame is not JSON');
  }
}

// The request in a frame: {id, method, params}. `hooks` lists the methods with the parameters that each takes.
function parseFrame(bytes, hooks) {
  const line = textOf(bytes).replace(/\r?\n$/, '');
  if (/[\r\n]/.test(line)) throw new FrameError(-32600, 'a frame is one line');
  const request = jsonOf(line);
  if (request === null || typeof request !== 'object' || Array.isArray(request)) {
    throw new FrameError(-32600, 'a frame is one object');
  }
  const id = typeof request.id === 'number' || typeof request.id === 'string' ? request.id : null;
  if (request.jsonrpc !== '2.0') throw new FrameError(-32600, 'jsonrpc is not "2.0"', id);
  if (id === null) throw new FrameError(-32600, 'the id is missing: nobody would hear the answer');
  const hook = hooks.find(({ method }) => method === request.method);
  if (!hook) throw new FrameError(-32601, 'no such method', id);
  for (const [name, type] of Object.entries(hook.params)) {
    if (typeof request.params?.[name] !== type) throw new FrameError(-32602, `${name} is not a ${type}`, id);
  }
  return { id, hook, params: request.params };
}

function resultLine(id, result) {
  return `${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`;
}

function errorLine({ id, code, message }) {
  return `${JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } })}\n`;
}

module.exports = { readAll, parseFrame, resultLine, errorLine, FrameError, MAX_BYTES };
