'use strict';

// One command line in, one verdict out: every rule is asked about every part of it.

const { parse, ShellSyntaxError } = require('./parse.js');
const { RULES } = require('./rules.js');

const SEVERITY = ['pass', 'warn', 'block'];

// The worst action among findings; "pass" for none.
function worst(findings) {
  return SEVERITY[Math.max(0, ...findings.map(({ action }) => SEVERITY.indexOf(action)))];
}

function partsFor(rule, parsed) {
  if (rule.on === 'tokens') return parsed.tokenLists;
  return rule.on === 'pipeline' ? parsed.pipelines : parsed.pipelines.flat();
}

// {action, reasons}: "pass", "warn" or "block", and a line for each rule that objects. Text that is not understood is
// blocked: a guard that lets through what it cannot read guards nothing.
function inspect(source) {
  let parsed;
  try {
    parsed = parse(source);
  } catch (error) {
    if (!(error instanceof ShellSyntaxError)) throw error;
    return { action: 'block', reasons: [`not-understood: ${error.message}`] };
  }
  const findings = [];
  for (const rule of RULES) {
    const object = partsFor(rule, parsed).map(rule.find).find(Boolean);
    if (object) findings.push({ action: rule.action, text: `${rule.name}: ${rule.why}: ${object}` });
  }
  return { action: worst(findings), reasons: findings.map(({ text }) => text) };
}

module.exports = { inspect };
