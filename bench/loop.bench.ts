import { loadavg } from 'node:os';
import { compareRunners, print, type Score } from './support/compare.js';
import { installedPeers, SideProcess } from './support/side.process.js';
import { requireAtMost, requireRatio } from './support/target.js';

/**
 * Measures runs with ten tool calls and a model without latency: Rollcall's loop, the loops of other frameworks, and a minimal loop as the
 * upper bound. Each side has its own process. The benchmark first measures the rate with 64 concurrent runs, and then the heap of 1,000
 * runs that wait in their last tool call.
 */
const MIN_RATIO = 4;
const MAX_KILOBYTES = 20;
/** `npm run bench:loop -- 1 ai-sdk` has rounds of one second, and measures only this peer. */
const given = process.argv.slice(2);
const ROUND_S = Number(given.find((one) => Number(one) > 0) ?? 3);
const wanted = given.filter((one) => !(Number(one) > 0));
/** V8 needs thousands of runs until all code of a side is optimised; the rates of the first rounds would still rise. */
const WARM_UP_S = Math.min(10, 4 * ROUND_S);

const SUPPORT = new URL('./support/', import.meta.url);
const peers = [
  { name: 'AI SDK, ToolLoopAgent', module: 'ai-sdk.mjs' },
  { name: 'OpenAI Agents', module: 'openai-agents.mjs' },
  { name: 'LangChain, createAgent', module: 'langchain.mjs' },
  { name: 'Mastra, Agent', module: 'mastra.mjs' },
];

function startPeers(): SideProcess[] {
  const folder = installedPeers();
  if (!folder) return [];
  return peers
    .filter(({ module }) => wanted.length === 0 || wanted.includes(module.replace('.mjs', '')))
    .map(({ name, module }) => new SideProcess(name, new URL(module, folder)));
}

async function printHeap(sides: readonly SideProcess[]): Promise<number[]> {
  console.log('\nheap for each of 1,000 concurrent runs');
  const sizes: number[] = [];
  for (const side of sides) {
    const kilobytes = (await side.heap()) / 1_000;
    sizes.push(kilobytes);
    console.log(`  ${side.name.padEnd(44)} ${kilobytes.toFixed(1).padStart(7)} KB`);
  }
  return sizes;
}

function fastest(scores: readonly Score[]): Score | undefined {
  return scores.toSorted((one, other) => other.perSecond - one.perSecond)[0];
}

const sides = [
  new SideProcess('minimal loop', new URL('minimal-loop.side.js', SUPPORT)),
  new SideProcess('Rollcall, ReactAgent', new URL('rollcall-loop.side.js', SUPPORT)),
  ...startPeers(),
];
try {
  for (const side of sides) await side.run(WARM_UP_S);
  const [minimal, rollcall, ...others] = await compareRunners(sides, { seconds: ROUND_S });
  print(
    'runs with 10 tool calls, 64 concurrent',
    [minimal, rollcall, ...others].filter((score) => score !== undefined),
  );
  if (others.length > 0) requireRatio(MIN_RATIO, rollcall, fastest(others));
  const [, kilobytes = Infinity] = await printHeap(sides);
  requireAtMost(MAX_KILOBYTES, kilobytes, 'KB for each run of Rollcall');
  const busy = loadavg().map((load) => load.toFixed(1));
  console.log(`\nload of the machine in the last 1, 5 and 15 minutes: ${busy.join(', ')}`);
} finally {
  for (const side of sides) side.stop();
}
