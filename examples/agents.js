// @ts-check
/**
 * Keeps a few demo agents alive until you stop it with Ctrl-C, for the tour and the tutorial. Needs Node 20 or newer and no packages:
 *
 *   node examples/agents.js                      # the key is read from .rollcall/admin.key
 *   ROLLCALL_URL=http://127.0.0.1:8080 ROLLCALL_KEY=… node examples/agents.js planner builder
 *
 * The agents do no work: they register, send heartbeats with a changing load, and deregister at the end. You can start it again at
 * any time, even after a crash.
 */
import { existsSync, readFileSync } from 'node:fs';
import { runAgent } from './agent.js';

/** What each demo agent registers. The arguments of the command line select some of these agents. */
const AGENTS = [
  { agentId: 'planner', name: 'demo-planner', capabilities: ['plan'], costModel: { usdPer1kTokens: 0.01 } },
  { agentId: 'builder', name: 'demo-builder', capabilities: ['plan', 'build'], costModel: { usdPer1kTokens: 0.003 } },
  {
    agentId: 'builder-free',
    name: 'demo-builder',
    capabilities: ['build'],
    provider: { adapter: 'copilot', type: 'subscription' },
    costModel: { usdPerTask: 0 },
    budget: { totalTokens: 500_000, usedTokens: 123_456 },
  },
  {
    agentId: 'tester',
    name: 'demo-tester',
    capabilities: ['test'],
    declaredMs: 400,
    labels: { team: 'quality' },
  },
];

const KEY_FILE = '.rollcall/admin.key';

function readKey() {
  const { ROLLCALL_KEY: key = '' } = process.env;
  if (key !== '') return key;
  if (existsSync(KEY_FILE)) return readFileSync(KEY_FILE, 'utf8').trim();
  throw new Error(`Set ROLLCALL_KEY to a key with the role agent, or start this program where ${KEY_FILE} is.`);
}

/** @param {string[]} names */
function chosen(names) {
  const unknown = names.filter((name) => !AGENTS.some(({ agentId }) => agentId === name));
  if (unknown.length > 0)
    throw new Error(
      `There is no demo agent ${unknown.join(', ')}. Choose from: ${AGENTS.map(({ agentId }) => agentId).join(', ')}.`,
    );
  return AGENTS.filter(({ agentId }) => names.length === 0 || names.includes(agentId));
}

async function main() {
  const { ROLLCALL_URL: url = 'http://127.0.0.1:8080' } = process.env;
  const agents = chosen(process.argv.slice(2));
  const key = readKey();
  const ending = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => ending.abort());
  const report = () => ({ inFlight: Math.floor(Math.random() * 4) });
  const running = agents.map((agent) => {
    const log = (/** @type {string} */ text) => console.log(`${agent.agentId}: ${text}`);
    return runAgent({ url, key, agent, transport: 'http', report, signal: ending.signal, log });
  });
  await Promise.all(running).catch((error) => {
    ending.abort(); // the other agents deregister
    throw error;
  });
}

main().catch((error) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
